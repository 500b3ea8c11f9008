// Package shell reads shell text to find the commands it would run.
//
// What it finds is advice: it lets a run be refused early with a better
// reason, and lets permission rules speak of commands. The boundary is built
// elsewhere and holds whatever the text hides, so a text that is not
// understood goes into the sandbox as it is; where understanding it would
// have been a reason to be softer, there is none.
//
// What may leave the sandbox is decided by package plain, without this parser.
package shell
