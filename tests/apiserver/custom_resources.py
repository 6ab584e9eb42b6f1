# SPDX-License-Identifier: Apache-2.0
"""A CustomResourceDefinition with most of what schemas can say, and objects that it is asked about."""

from __future__ import annotations

from typing import Any, Final

SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1, "maximum": 10},
                "ratio": {"type": "number", "exclusiveMinimum": True, "minimum": 0},
                "mode": {"type": "string", "enum": ["fast", "slow"], "default": "slow"},
                "name": {"type": "string", "pattern": "^[a-z]+$", "minLength": 2, "maxLength": 5},
                "port": {"x-kubernetes-int-or-string": True},
                "when": {"type": "string", "format": "date-time"},
                "address": {"type": "string", "format": "ipv4"},
                "note": {"type": "string", "nullable": True},
                "flag": {"type": "boolean", "default": True},
                "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set", "maxItems": 3},
                "hosts": {
                    "type": "array",
                    "minItems": 1,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["host"],
                    "items": {
                        "type": "object",
                        "required": ["host"],
                        "properties": {"host": {"type": "string"}, "weight": {"type": "integer", "default": 1}},
                    },
                },
                "labels": {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 2},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "either": {
                    "type": "object",
                    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                    "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
                },
                "least": {"type": "integer"},
                "most": {"type": "integer"},
                "fixed": {
                    "type": "string",
                    "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "fixed is immutable"}],
                },
            },
            "x-kubernetes-validations": [
                {
                    "rule": "!has(self.least) || !has(self.most) || self.least <= self.most",
                    "message": "least must not exceed most",
                }
            ],
        },
        "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
    },
}


def definition(schema: dict[str, Any] = SCHEMA) -> dict[str, Any]:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "databases", "singular": "database", "kind": "Database", "listKind": "DatabaseList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "databases.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }


def database(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Database",
        "metadata": {"name": "d", "namespace": "default"},
        "spec": {"size": 3, **spec},
    }


INVALID: Final[dict[str, dict[str, Any]]] = {
    "type": database(size="3"),
    "type-of-object": database(labels=["a"]),
    "type-of-element": database(tags=[1]),
    "number": database(ratio="x"),
    "fraction": database(size=1.5),
    "minimum": database(size=0),
    "maximum": database(size=11),
    "exclusive": database(ratio=0),
    "enum": database(mode="medium"),
    "pattern": database(name="AB"),
    "short": database(name="a"),
    "long": database(name="abcdef"),
    "int-or-string": database(port=True),
    "format": database(when="yesterday"),
    "address": database(address="1.2.3"),
    "set": database(tags=["a", "b", "a"]),
    "many": database(tags=["a", "b", "c", "d"]),
    "few": database(hosts=[]),
    "keys": database(hosts=[{"host": "a"}, {"host": "a"}]),
    "required-in-element": database(hosts=[{"weight": 1}]),
    "many-properties": database(labels={"a": "1", "b": "2", "c": "3"}),
    "value-of-map": database(labels={"a": 1}),
    "one-of-none": database(either={}),
    "one-of-both": database(either={"a": "1", "b": "2"}),
    "rule": database(least=3, most=2),
    "several": database(size=0, mode="x"),
}

VALID: Final[dict[str, dict[str, Any]]] = {
    "defaults": database(),
    "no-defaults-needed": database(mode="fast", flag=False),
    "element": database(hosts=[{"host": "a"}, {"host": "b", "weight": 2}]),
    "pruned": database(unknown=1, free={"any": {"thing": [1]}}, hosts=[{"host": "a", "bogus": 2}], labels={"any": "x"}),
    "nullable": database(note=None),
    "null-for-a-default": database(mode=None),
    "null-is-absent": database(name=None, least=None),
    "port": database(port="http"),
    "formats": database(when="2026-01-01T00:00:00Z", address="10.0.0.1"),
    "status": {**database(), "status": {"ready": True, "bogus": 1}, "extra": {}},
}
