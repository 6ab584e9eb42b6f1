{{/* leaderElection: what `config` says, with the lease of this release as the default. */}}
{{- define "steersman.election" -}}
{{- $given := .Values.config.leaderElection | default dict -}}
{{- $election := dict "leaderElect" true "resourceName" .Release.Name "resourceNamespace" .Release.Namespace -}}
{{- range $key, $value := $given }}{{ $_ := set $election $key $value }}{{ end -}}
{{- toYaml $election -}}
{{- end -}}

{{/* The KubeSchedulerConfiguration: `config`, completed. */}}
{{- define "steersman.config" -}}
{{- $config := dict "apiVersion" "kubescheduler.config.k8s.io/v1" "kind" "KubeSchedulerConfiguration" "profiles" .Values.profiles -}}
{{- range $key, $value := .Values.config }}{{ $_ := set $config $key $value }}{{ end -}}
{{- $_ := set $config "leaderElection" (fromYaml (include "steersman.election" .)) -}}
{{- range $config.profiles -}}
{{- if eq (.schedulerName | default "default-scheduler") "default-scheduler" -}}
{{- fail "profiles: schedulerName is default-scheduler, which schedules Steersman's own pods: nobody would start them again after all replicas are gone. Give the profile another name, or run Steersman as a static pod; see deploy/README.md" -}}
{{- end -}}
{{- end -}}
{{- if and (not $config.leaderElection.leaderElect) (gt (int .Values.replicas) 1) -}}
{{- fail "config.leaderElection.leaderElect is false: with more than one replica all of them would schedule. Set replicas to 1" -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}
