// Package inside is the part of the file tools and of fetch that runs in a
// sandbox of the session, as a command does: what a command could not read,
// write or reach, it cannot either. One process answers requests until its
// input ends.
package inside
