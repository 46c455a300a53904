package seal_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	json2 "github.com/go-json-experiment/json"
	"go.yaml.in/yaml/v3"

	"github.com/junctor-mcp/junctor/internal/seal"
)

const canary = "canary-7f3a"

// holder has a secret in every position from which printing might reach it.
type holder struct {
	Shown   seal.Secret
	Pointer *seal.Secret
	List    []seal.Secret
	Map     map[string]seal.Secret
	Any     any
	private seal.Secret
	deep    struct{ p *seal.Secret }
}

func newHolder() *holder {
	s := seal.NewSecret(canary)
	h := &holder{Shown: s, Pointer: &s, List: []seal.Secret{s}, Map: map[string]seal.Secret{"k": s}, Any: s, private: s}
	h.deep.p = &s
	return h
}

func TestSecretHidesInFmt(t *testing.T) {
	t.Parallel()
	s := seal.NewSecret(canary)
	for _, verb := range "vsqxXdtbcoOUeEfFgGpTw" {
		for _, flag := range []string{"", "+", "#", "-20", "020", " ", ".3"} {
			format := "%" + flag + string(verb)
			// fmt answers %T and %p itself; %w is for Errorf only.
			if out := fmt.Sprintf(format, s); out != "***" && !strings.ContainsRune("Tpw", verb) {
				t.Errorf("%s shows %q", format, out)
			}
			for _, v := range []any{s, &s, newHolder(), *newHolder(), []any{s}, map[string]any{"k": &s}, errors.Join(fmt.Errorf("wrapped: %v", s))} {
				if out := fmt.Sprintf(format, v); leaks(out) {
					t.Errorf("%s of %T shows %q", format, v, out)
				}
			}
		}
	}
	if out := fmt.Sprint(s) + fmt.Sprintln(&s) + s.String() + s.GoString(); leaks(out) || !strings.Contains(out, "***") {
		t.Errorf("printed %q", out)
	}
}

// leaks looks for the text, and for its bytes in hexadecimal or decimal.
func leaks(out string) bool {
	for _, form := range []string{"%s", "%x", "%X", "% x", "%v"} {
		text := strings.Trim(fmt.Sprintf(form, []byte(canary)), "[]")
		if strings.Contains(out, text[:len(text)/2]) {
			return true
		}
	}
	return false
}

func TestSecretHidesInLogs(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		s := seal.NewSecret(canary)
		slog.New(h).With("with", s).WithGroup("g").Info("m", "v", s, "p", &s, "h", newHolder(), "l", []seal.Secret{s})
	}
	if leaks(out.String()) || strings.Count(out.String(), "***") < 8 {
		t.Errorf("logged %s", &out)
	}
}

func TestSecretHidesInEncodings(t *testing.T) {
	t.Parallel()
	encodings := map[string]func(any) ([]byte, error){
		"json":    json.Marshal,
		"json v2": func(v any) ([]byte, error) { return json2.Marshal(v) },
		"yaml":    yaml.Marshal,
	}
	for name, encode := range encodings {
		for _, v := range []any{newHolder(), *newHolder(), seal.NewSecret(canary), map[string]any{"k": seal.NewSecret(canary)}} {
			out, err := encode(v)
			if err != nil || leaks(string(out)) || !strings.Contains(string(out), "***") {
				t.Errorf("%s of %T: %v, %s", name, v, err, out)
			}
		}
	}
	if out, err := xml.Marshal(seal.NewSecret(canary)); err != nil || leaks(string(out)) {
		t.Errorf("xml: %v, %s", err, out)
	}
	var out bytes.Buffer
	_ = gob.NewEncoder(&out).Encode(seal.NewSecret(canary))
	if leaks(out.String()) {
		t.Errorf("gob: %q", out.String())
	}
}

func TestSecretComesIn(t *testing.T) {
	t.Parallel()
	var fromJSON, fromYAML struct {
		Key seal.Secret `json:"key" yaml:"key"`
	}
	if err := json.Unmarshal([]byte(`{"key":"`+canary+`"}`), &fromJSON); err != nil || fromJSON.Key.Reveal() != canary {
		t.Errorf("json: %v, %q", err, fromJSON.Key.Reveal())
	}
	if err := yaml.Unmarshal([]byte("key: "+canary), &fromYAML); err != nil || fromYAML.Key.Reveal() != canary {
		t.Errorf("yaml: %v, %q", err, fromYAML.Key.Reveal())
	}
}

func TestSecretComparison(t *testing.T) {
	t.Parallel()
	if reflect.TypeFor[seal.Secret]().Comparable() {
		t.Error("secrets can be compared with ==")
	}
	s, none := seal.NewSecret(canary), seal.Secret{}
	if !s.Equal(canary) || s.Equal(canary+"x") || s.Equal("") || !none.Equal("") {
		t.Error("Equal is wrong")
	}
	if s.IsZero() || !none.IsZero() || !seal.NewSecret("").IsZero() || none.Reveal() != "" {
		t.Error("IsZero or Reveal of the zero Secret is wrong")
	}
	if got := fmt.Sprint(none); got != "***" {
		t.Errorf("an absent secret shows that it is absent: %q", got)
	}
}
