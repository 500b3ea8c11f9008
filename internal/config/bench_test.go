package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkLoadThousandRules: at most 10 ms.
func BenchmarkLoadThousandRules(b *testing.B) { benchmarkLoad(b, 1000) }

func BenchmarkLoadHundredThousandRules(b *testing.B) { benchmarkLoad(b, 100_000) }

func benchmarkLoad(b *testing.B, n int) {
	w := newWorld(b)
	var doc strings.Builder
	doc.WriteString("[sandbox]\ndenied_domains = [\n")
	for i := range n / 2 {
		fmt.Fprintf(&doc, "  \"tracker-%d.example\",\n", i)
	}
	doc.WriteString("]\nallowed_domains = [\n")
	for i := range n / 2 {
		fmt.Fprintf(&doc, "  \"*.service-%d.example:443\", # why\n", i)
	}
	doc.WriteString("]\n")
	w.write(w.userFile(), doc.String())
	o := w.options()
	b.ReportAllocs()
	for b.Loop() {
		c, err := Load(o)
		if err != nil || len(c.items[keyAllowed]) != n/2 {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoadNoFile is what every run pays that has no configuration.
func BenchmarkLoadNoFile(b *testing.B) {
	w := newWorld(b)
	o := w.options()
	o.Environ = append(o.Environ, os.Environ()...)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load(o); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoadHostileNames: what a project's file can make the reader do.
func BenchmarkLoadHostileNames(b *testing.B) {
	w := newWorld(b)
	for name, text := range map[string]string{
		"dots":     strings.Repeat("a.", MaxProject/2-2) + "b=1",
		"brackets": "[sandbox]\nprotect=" + strings.Repeat("[", MaxProject-30),
		"tables":   strings.Repeat("[sandbox.proxy]\n", MaxProject/17),
		"entries":  "[sandbox]\nprotect=[" + strings.Repeat("'a',", MaxProject/4-20) + "]",
	} {
		b.Run(name, func(b *testing.B) {
			w.write(filepath.Clean(w.projectFile()), text)
			o := w.options()
			for b.Loop() {
				_, _ = Load(o) // most are refused
			}
		})
	}
}
