// Requests, and who is waiting for them.

import { send } from "./transport.js";
import { by } from "./dom.js";

const running = new Set();

function show() {
  const long = [...running].some((one) => one.long);
  by("busy").textContent = long ? "Working…" : "";
  by("cancel").hidden = !long;
}

/** Gives up all that is going on. */
export function cancelAll() {
  for (const one of running) one.controller.abort();
}

/** Does what may take long, with a signal that gives it up. */
export async function tracked(work, signal) {
  const controller = new AbortController();
  if (signal?.aborted) controller.abort();
  signal?.addEventListener("abort", () => controller.abort());
  const one = { controller, long: false };
  running.add(one);
  const timer = setTimeout(() => { one.long = true; show(); }, 400);
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    running.delete(one);
    show();
  }
}

async function ask(name, parameters, signal) {
  const query = Object.entries(parameters)
    .filter(([, value]) => value !== undefined && value !== null && value !== "")
    .map(([key, value]) => `${key}=${encodeURIComponent(value)}`)
    .join("&");
  return tracked(async (given) => {
    const answer = await send(name, query, given);
    if (answer.status !== 200) {
      let message = `the answer has status ${answer.status}`;
      try { message = JSON.parse(new TextDecoder().decode(answer.body)).error.message; } catch { /* no JSON: the status says it */ }
      throw new Error(message);
    }
    return answer;
  }, signal);
}

/** An answer that is JSON. */
export async function json(name, parameters, signal) {
  return JSON.parse(new TextDecoder().decode((await ask(name, parameters, signal)).body));
}

/** An answer that is a picture: a blob. */
export async function picture(parameters, signal) {
  const answer = await ask("image", parameters, signal);
  return new Blob([answer.body], { type: "image/png" });
}

/** Whether an error says that the request was given up. */
export const isGivenUp = (error) => error?.name === "AbortError";
