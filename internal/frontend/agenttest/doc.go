// Package agenttest tests what agents meet: the real program as their hook and
// their shell, and, where it is asked for, the real agents.
package agenttest
