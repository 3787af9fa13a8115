
// The part of the story that StarlingMonkey tells besides.
import { http } from "informer-sdk";

function call(): void {
  const headers = { "X-Mood": "calm", "Content-Length": "1" };
  const answer = http.fetch(`${url}/hook`, { method: "POST", headers, body: "späti" });
  console.log(`http: ${answer.status} ${answer.headers.get("x-heard")}, ${answer.text()}`);
  const large = http.fetch(`${url}/hook`, { body: "x".repeat(10_000), timeoutMs: 5000 });
  console.log(`http: ${large.bytes().length - "POST ".length} bytes`);
  console.log(`denied: ${refused(() => http.fetch(`${url}/other`))}`);
}
