// Package mcp serves a session's commands and file tools to agents over the
// Model Context Protocol, on standard input and output.
//
// Nothing here holds a boundary: commands, and the work of the file tools and
// of fetch, run in the session's sandboxes (package inside is what runs there).
// What this package decides besides only makes it narrower.
package mcp
