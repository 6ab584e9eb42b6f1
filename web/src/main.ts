// SPDX-License-Identifier: Apache-2.0
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { mount } from "svelte";
import App from "./App.svelte";
import { session } from "./state/session.svelte";

const target = document.getElementById("app");
if (target) mount(App, { target });
void session.start();
