// Renders Markdown as the frontend does, with its own worker: `node markdown.js <worker> < [text, ...]` prints a list of HTML.
"use strict";
const { readFileSync } = require("fs");
const vm = require("vm");

const texts = JSON.parse(readFileSync(0, "utf8"));
const waiting = new Map();
let listener = null;
const scope = {
  console, URL, Promise, Map, WeakMap, Set, setTimeout, MessageChannel,
  location: { href: "http://localhost/frontend_latest/worker.js" },
  addEventListener: (kind, heard) => { if (kind === "message") listener = heard; },
  removeEventListener: () => {},
  postMessage: (answer) => waiting.get(answer.id)(answer),
  start: () => {},
};
scope.self = scope.globalThis = scope;
vm.runInNewContext(readFileSync(process.argv[2], "utf8"), scope);

(async () => {
  const pages = [];
  for (const [id, text] of texts.entries()) {
    const answer = await new Promise((resolve) => {
      waiting.set(String(id), resolve);
      const list = [text, { breaks: true, gfm: true }, {}].map((value) => ({ type: "RAW", value }));
      listener({ origin: "http://localhost", data: { id: String(id), type: "APPLY", path: ["renderMarkdown"], argumentList: list } });
    });
    if (!Array.isArray(answer.value)) throw new Error(JSON.stringify(answer));
    pages.push(answer.value.join(""));
  }
  console.log(JSON.stringify(pages));
})();
