import { render } from "preact";
import { stream } from "./api";
import { App } from "./app";
import "./style.css";

const theme = localStorage.getItem("theme");
if (theme) document.documentElement.dataset.theme = theme;
stream.start();
render(<App />, document.getElementById("app")!);
