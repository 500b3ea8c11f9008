// Package egresstest holds the tests of a sandbox's way to the network: the
// real program, the real kernel and real clients, against servers in network
// namespaces that the tests make, so that nothing leaves the machine.
package egresstest
