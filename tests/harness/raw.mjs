// SPDX-License-Identifier: Apache-2.0
// Bytes on a socket as no client library would send them, and what came back.
import net from "node:net";
import tls from "node:tls";
import { sleep } from "./wrist.mjs";

// Sends pieces with pauses and collects what comes until the peer ends or `wait` is over:
// {text, bytes, status, why, ms, socket}; `why` is "end", "close", "error" or "wait".
export function raw(pieces, { wait = 4000, port, localAddress, secure = false, pause = 0, hold = false } = {}) {
  return new Promise((resolve) => {
    const started = Date.now();
    const socket = secure ? tls.connect({ port, host: "127.0.0.1", servername: "localhost", ALPNProtocols: ["http/1.1"] })
      : net.connect({ port, host: "127.0.0.1", localAddress });
    const parts = [];
    let finished = false;
    const done = (why) => {
      if (finished) return;
      finished = true;
      clearTimeout(timer);
      if (!hold) socket.destroy();
      const bytes = Buffer.concat(parts);
      const text = bytes.toString("latin1");
      resolve({ text, bytes, status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]), why, ms: Date.now() - started, socket });
    };
    const timer = setTimeout(() => done("wait"), wait);
    socket.on("data", (part) => parts.push(part));
    socket.on("end", () => done("end"));
    socket.on("error", () => done("error"));
    socket.on("close", () => done("close"));
    socket.on(secure ? "secureConnect" : "connect", async () => {
      for (const piece of [pieces].flat()) {
        if (socket.destroyed) return;
        socket.write(piece);
        if (pause) await sleep(pause);
      }
    });
  });
}

// ---- HTTP/2 by hand

export const DATA = 0, HEADERS = 1, PRIORITY = 2, RST_STREAM = 3, SETTINGS = 4, PING = 6, GOAWAY = 7, WINDOW_UPDATE = 8, CONTINUATION = 9;
export const END_STREAM = 1, END_HEADERS = 4;
export const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

export function frame(type, flags, stream, payload = Buffer.alloc(0)) {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

export function u32(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function hpackString(text) {
  const size = text.length < 127 ? [text.length] : [127, ((text.length - 127) & 127) | 128, (text.length - 127) >> 7];
  return Buffer.concat([Buffer.from(size), Buffer.from(text, "latin1")]);
}

// HPACK literals without indexing.
export const literals = (pairs) => Buffer.concat(pairs.flatMap(([name, value]) => [Buffer.from([0]), hpackString(name), hpackString(value)]));

// [{type, flags, stream, payload}] of what a server sent.
export function framesOf(bytes) {
  const frames = [];
  for (let at = 0; at + 9 <= bytes.length;) {
    const size = bytes.readUIntBE(at, 3);
    frames.push({ type: bytes[at + 3], flags: bytes[at + 4], stream: bytes.readUInt32BE(at + 5) & 0x7fffffff, payload: bytes.subarray(at + 9, at + 9 + size) });
    at += 9 + size;
  }
  return frames;
}

// The error codes of its GOAWAY frames; of its RST_STREAM frames for one stream.
export const goneAway = (bytes) => framesOf(bytes).filter((f) => f.type === GOAWAY).map((f) => f.payload.readUInt32BE(4));
export const resets = (bytes, stream) => framesOf(bytes).filter((f) => f.type === RST_STREAM && f.stream === stream).map((f) => f.payload.readUInt32BE(0));
