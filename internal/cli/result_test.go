package cli

import (
	"encoding/json"
	"testing"
)

func TestResultText(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, result, want string }{
		{"text", `{"content":[{"type":"text","text":"hello"},{"type":"text","text":"world\n"}]}`, "hello\nworld\n"},
		{"an escape sequence is not obeyed", `{"content":[{"type":"text","text":"a\u001b[31mb\u009bc\u202ed"}]}`, "a[31mbcd\n"},
		{"image", `{"content":[{"type":"image","mimeType":"image/png","data":"AAAA"}]}`, "[image image/png, 3 bytes]\n"},
		{"link", `{"content":[{"type":"resource_link","name":"n","uri":"a://b"}]}`, "[link n a://b]\n"},
		{"resource", `{"content":[{"type":"resource","resource":{"uri":"a://b","text":"inside"}}]}`, "inside\n"},
		{"blob", `{"content":[{"type":"resource","resource":{"uri":"a://b","mimeType":"x/y","blob":"AAAA"}}]}`, "[resource a://b x/y, 3 bytes]\n"},
		{"something new", `{"content":[{"type":"hologram"}]}`, "[hologram; --format json shows it]\n"},
		{"structured only", `{"structuredContent":{"sum":42}}`, "{\n  \"sum\": 42\n}\n"},
		{"structured beside text", `{"content":[{"type":"text","text":"42"}],"structuredContent":{"sum":42}}`, "42\n"},
		{"nothing", `{"content":[]}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var r toolResult
			if err := json.Unmarshal([]byte(tt.result), &r); err != nil {
				t.Fatal(err)
			}
			if got := r.describe(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestFirstLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"": "", "abc": "abc", "abcdef": "abcd…", "ab\ncd": "ab", "äöüßé": "äöüßé", "ab\n": "ab"} {
		if got := firstLine(in, 5); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
