package protocol

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A text comes back as it was, whatever is in it.
func TestTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })), 0, 3).Draw(t, "texts")
		c := contents{texts: texts}
		if len(texts) > 0 && rapid.Bool().Draw(t, "long") { // in pieces, wherever these end
			c.long, c.texts = NewText(), texts[1:]
			for rest := texts[0]; rest != ""; {
				n := rapid.IntRange(0, min(len(rest), 5)).Draw(t, "piece")
				if got, err := c.long.Write([]byte(rest[:n])); got != n || err != nil {
					t.Fatal(got, err)
				}
				rest = rest[n:]
			}
		}
		result := map[string]any{"content": c}
		if rapid.Bool().Draw(t, "more") {
			result["isError"] = true
		}
		head := strings.Repeat(" ", rapid.SampledFrom([]int{0, 40, textRoom, 3 * textRoom}).Draw(t, "head"))
		b, text, err := appendResult([]byte(head), result)
		if err != nil || text != c.long || !strings.HasPrefix(string(b), head+"{") {
			t.Fatalf("%v: %s", err, b)
		}
		defer text.free()
		var got struct {
			Content []struct{ Type, Text string }
			IsError bool
		}
		if err := json.Unmarshal(b, &got); err != nil || len(got.Content) != len(texts) || got.IsError != (result["isError"] == true) || strings.Contains(string(b), "\n") {
			t.Fatalf("%v: %s", err, b)
		}
		for i, s := range texts {
			// encoding/json has one U+FFFD for each byte too.
			plain, _ := json.Marshal(s)
			var want string
			_ = json.Unmarshal(plain, &want)
			if got.Content[i].Type != "text" || got.Content[i].Text != want {
				t.Fatalf("%q is %q", s, got.Content[i].Text)
			}
		}
	})
}
