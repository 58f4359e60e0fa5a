// How requests reach the files: here, the server that this page came from. The static page has another file of this name,
// which asks a worker.

/** Whether the page itself can open files. */
export const canOpen = false;

/** Sends one request; gives its status, content type and bytes. */
export async function send(name, query, signal) {
  const response = await fetch(`api/${name}?${query}`, { signal, cache: "no-store" });
  return { status: response.status, type: response.headers.get("content-type") ?? "", body: await response.arrayBuffer() };
}

/** Opens a file or an address. */
export function open() {
  throw new Error("this page shows what its server was started with");
}
