// A fake of `wasi:http` whose answers are those of the test.

/** The interfaces by the names of their modules. `answer` gets the request and the body, and returns an answer or `undefined`. */
export function interfaces(answer) {
  class Fields {
    constructor(entries = []) {
      this.list = entries;
    }

    static fromList(entries) {
      // The engine would end the call with a trap.
      if (entries.some(([name]) => !name.isWellFormed())) throw new Error("the name of a header has half a character");
      return new Fields(entries);
    }

    entries() {
      return this.list;
    }
  }

  class OutgoingBody {
    constructor() {
      this.pieces = [];
    }

    write() {
      return { blockingWriteAndFlush: (piece) => void this.pieces.push(...piece) };
    }

    static finish() {}
  }

  class OutgoingRequest {
    constructor(headers) {
      this.headers = headers;
    }

    setMethod({ tag, val }) {
      this.method = val ?? tag.toUpperCase();
    }

    setScheme({ tag }) {
      this.scheme = tag.toLowerCase();
    }

    setAuthority(authority) {
      this.authority = authority;
    }

    setPathWithQuery(path) {
      this.path = path;
    }

    body() {
      this.sent = new OutgoingBody();
      return this.sent;
    }
  }

  class RequestOptions {
    setConnectTimeout() {}
    setFirstByteTimeout() {}
    setBetweenBytesTimeout() {}
  }

  function handle(request) {
    const { method, scheme, authority, path } = request;
    const get = () => {
      const found = answer(`${method} ${scheme}://${authority}${path}`, new TextDecoder().decode(new Uint8Array(request.sent?.pieces ?? [])));
      const val = found === undefined ? { tag: "err", val: { tag: "HTTP-request-denied" } } : { tag: "ok", val: response(found) };
      return { tag: "ok", val };
    };
    return { subscribe: () => ({ block() {} }), get };
  }

  function response({ status = 200, headers = {}, body = "", breaksOff = false }) {
    const pieces = [new TextEncoder().encode(body)];
    const payload = breaksOff ? { tag: "last-operation-failed", val: {} } : { tag: "closed" };
    const blockingRead = () => {
      if (pieces.length > 0) return pieces.pop();
      throw Object.assign(new Error(payload.tag), { payload });
    };
    const wire = (value) => (typeof value === "string" ? new TextEncoder().encode(value) : value);
    const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), wire(value)]);
    return { status: () => status, headers: () => new Fields(entries), consume: () => ({ stream: () => ({ blockingRead }) }) };
  }

  return {
    "wasi:http/outgoing-handler@0.2.12": { handle },
    "wasi:http/types@0.2.12": { Fields, OutgoingBody, OutgoingRequest, RequestOptions, httpErrorCode: () => undefined },
  };
}
