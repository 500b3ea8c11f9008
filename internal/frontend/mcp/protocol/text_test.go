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
		texts := contents(rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })), 0, 3).Draw(t, "texts"))
		result := map[string]any{"content": texts}
		if rapid.Bool().Draw(t, "more") {
			result["isError"] = true
		}
		b, err := appendResult(nil, result)
		if err != nil {
			t.Fatal(err)
		}
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
