package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"bawn/internal/audit"
	"bawn/internal/audit/export"
)

// exportFormats are what bawn log export writes.
var exportFormats = []string{"jsonl", "csv", "markdown", "html", "otlp"}

func (f *logFlags) export(words []string) int {
	switch {
	case len(words) == 0:
		return usageError("log", fmt.Errorf("log export needs a format: %s", strings.Join(exportFormats, ", ")))
	case !slices.Contains(exportFormats, words[0]):
		return usageError("log", unknown("format", words[0], exportFormats))
	}
	lines, err := audit.LastLines(trustState(), f.filter, f.last)
	if err != nil {
		return fail(err)
	}
	if words[0] == "jsonl" { // as they are: their hashes can be checked
		return f.toFile(func(w io.Writer) error {
			for _, line := range lines {
				if _, err := w.Write(append(line, '\n')); err != nil {
					return err
				}
			}
			return nil
		})
	}
	var records []audit.Record
	for _, line := range lines {
		if r, err := audit.Parse(line); err == nil {
			records = append(records, r)
		}
	}
	if words[0] == "otlp" && f.out == "" {
		return sendRecords(records)
	}
	return f.toFile(func(w io.Writer) error { return writeRecords(w, words[0], records) })
}

func writeRecords(w io.Writer, format string, records []audit.Record) error {
	switch format {
	case "csv":
		return export.CSV(w, records)
	case "markdown":
		return export.Markdown(w, records)
	case "html":
		return export.HTML(w, records)
	}
	logs, traces, err := export.OTLP(records, os.Getenv)
	for _, b := range [][]byte{logs, traces} {
		if b != nil && err == nil {
			_, err = w.Write(append(b, '\n'))
		}
	}
	return err
}

// toFile writes to -o, or standard output.
func (f *logFlags) toFile(write func(io.Writer) error) int {
	out := os.Stdout
	if f.out != "" && f.out != "-" {
		// What commands did is the user's own business.
		var err error
		if out, err = os.OpenFile(f.out, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
			return fail(err)
		}
	}
	w := bufio.NewWriterSize(out, 64<<10)
	if err := errors.Join(write(w), w.Flush(), out.Close()); err != nil {
		return fail(err)
	}
	return 0
}

// sendRecords sends to a collector.
func sendRecords(records []audit.Record) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	to, err := export.Send(ctx, records, os.Getenv)
	switch {
	case err != nil:
		return fail(err)
	case len(to) == 0:
		warn("nothing is sent: the OTEL_ variables say so")
		return 0
	}
	printLine(printable(plural(len(records), "record", "records") + " sent to " + strings.Join(to, " and ")))
	return 0
}
