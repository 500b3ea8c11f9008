// Package mcptest runs the real program as an MCP server, with the official
// SDK's client.
package mcptest
