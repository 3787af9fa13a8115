// Requests to the host that serves this page.

let token = null;

async function answer(response) {
  const body = await response.json().catch(() => ({ error: `the host answers ${response.status}` }));
  if (!response.ok) throw new Error(body.error ?? `the host answers ${response.status}`);
  return body;
}

/** Reads an answer. Throws an Error with the host's reason. */
export async function read(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(given).toString();
  return answer(await fetch(text ? `${path}?${text}` : path));
}

async function freshToken() {
  const answered = await answer(await fetch("/page/token", { headers: { "informer-page": "1" } }));
  return answered.token;
}

function post(path, body) {
  const headers = { "content-type": "application/json", "informer-token": token };
  return fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
}

/** Changes the host. Throws an Error with the host's reason. A host that started anew has another token. */
export async function act(path, body) {
  token ??= await freshToken();
  let response = await post(path, body);
  if (response.status === 403) {
    token = await freshToken();
    response = await post(path, body);
  }
  return answer(response);
}
