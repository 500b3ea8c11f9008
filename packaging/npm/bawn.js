#!/usr/bin/env node
// Starts the program of this platform's package in its own place.
"use strict";
const { spawn } = require("node:child_process");
const { signals } = require("node:os").constants;

const name = `bawn-sandbox-${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? "bawn.exe" : "bawn";
let program;
try {
  program = require.resolve(`${name}/bin/${file}`);
} catch {
  console.error(
    `bawn: there is no program for ${process.platform}-${process.arch} here: the package ${name} is not installed.\n` +
      "Install bawn-sandbox again without --omit=optional, or take an archive of the release.",
  );
  process.exit(125);
}
// What is typed at a terminal reaches the program by itself.
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
for (const s of ["SIGINT", "SIGQUIT"]) process.on(s, () => {});
for (const s of ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"]) process.on(s, () => child.kill(s));
child.on("error", (err) => {
  console.error(`bawn: ${err.message}`);
  process.exit(125);
});
child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    // Node ignores SIGPIPE, and would end with 0.
    process.exitCode = 128 + signals[signal];
    process.kill(process.pid, signal);
    return;
  }
  process.exit(code);
});
