package history

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestRedactByName(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"user":"ann","password":"hunter2"}`:                            `{"user":"ann","password":"[redacted]"}`,
		`{"pass\u0077ord":"hunter2"}`:                                    `{"password":"[redacted]"}`,
		`{"a":[{"b":{"apiKey":"x1"}}]}`:                                  `{"a":[{"b":{"apiKey":"[redacted]"}}]}`,
		`{"X-Api-Key":"x","api_key":"y","API KEY":["z"]}`:                `{"X-Api-Key":"[redacted]","api_key":"[redacted]","API KEY":"[redacted]"}`,
		`{"credentials_json":{"type":"service_account","x":[1,"s3"]}}`:   `{"credentials_json":"[redacted]"}`,
		`{"token":"abc","max_tokens":100,"next":null}`:                   `{"token":"[redacted]","max_tokens":100,"next":null}`,
		`{"password":null,"secret":true,"pin":1234}`:                     `{"password":null,"secret":true,"pin":"[redacted]"}`,
		`{"headers":[{"name":"Cookie","value":"a=b"}]}`:                  `{"headers":[{"name":"Cookie","value":"[redacted]"}]}`,
		`{"headers":[{"value":"a=b","name":"Authorization"}]}`:           `{"headers":[{"value":"[redacted]","name":"Authorization"}]}`,
		`{"name":"color","value":"blue"}`:                                `{"name":"color","value":"blue"}`,
		`{"secretary":"Ms Moneypenny","author":"Ian","tokenizer":"bpe"}`: `{"secretary":"Ms Moneypenny","author":"Ian","tokenizer":"bpe"}`,
		`{"text":"{\"password\":\"hunter2\",\"a\":1}"}`:                  `{"text":"{\"password\":\"[redacted]\",\"a\":1}"}`,
		`{"text":"{ \"a\" : 1 }"}`:                                       `{"text":"{ \"a\" : 1 }"}`,
		`{"text":"[\"{\\\"token\\\":\\\"t0p\\\"}\"]"}`:                   `{"text":"[\"{\\\"token\\\":\\\"[redacted]\\\"}\"]"}`,
		`{"echo":"it is swordfish!","password":"swordfish"}`:             `{"echo":"it is [redacted]!","password":"[redacted]"}`,
		`"plain"`:                         `"plain"`,
		` [ 1 , 2e3 ] `:                   `[1,2e3]`,
		`{}`:                              `{}`,
		`not JSON, password=hunter2 here`: `"not JSON, password=[redacted] here"`,
		`{"a":1}{"password":"x"}`:         `"{\"a\":1}{\"password\":\"[redacted]\"}"`,
		`{"a":"\ud83d\ude00\u0000"}`:      `{"a":"😀\u0000"}`,
	} {
		r := newRedactor(4096)
		r.reset()
		if got := string(r.redactParams([]byte(in), len(in), nil)); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestRedactBySchema(t *testing.T) {
	t.Parallel()
	r := newRedactor(4096)
	r.reset()
	in := `{"name":"login","arguments":{"code":"open sesame","list":[{"k":"v1"},{"k":"v2"}],"a/b":"slash"}}`
	want := `{"name":"login","arguments":{"code":"[redacted]","list":[{"k":"[redacted]"},{"k":"[redacted]"}],"a/b":"[redacted]"}}`
	secret := newSecretPaths([]string{"/code", "/list/*/k", "/a~1b"}, []string{"/answer"})
	if got := string(r.redactParams([]byte(in), len(in), secret.params)); got != want {
		t.Errorf("params\n got %s\nwant %s", got, want)
	}
	// What was secret in the arguments is secret in the result, and in the reason.
	in = `{"content":[{"type":"text","text":"{\"answer\":\"mellon\"}"},{"type":"text","text":"you said open sesame"}],"structuredContent":{"answer":"mellon"}}`
	want = `{"content":[{"type":"text","text":"{\"answer\":\"[redacted]\"}"},{"type":"text","text":"you said [redacted]"}],"structuredContent":{"answer":"[redacted]"}}`
	if got := string(r.redactResult([]byte(in), len(in), secret.result)); got != want {
		t.Errorf("result\n got %s\nwant %s", got, want)
	}
	if got := string(r.redactText("no such door: open sesame")); got != "no such door: [redacted]" {
		t.Errorf("reason: %s", got)
	}
	r.reset()
	if got := string(r.redactText("open sesame")); got != "open sesame" {
		t.Errorf("another call: %s", got)
	}
}

// secretTexts are texts in which CANARY stands for what must go. Keys are put
// together here so that no scanner takes this file for a leak.
func secretTexts() []string {
	rnd := "7Q" + "x9Zt2LmK4vBn8RwY3c"
	return []string{
		"Authorization: Bearer " + "CANARY" + rnd,
		"authorization: Basic dXNlcjpwYXNz" + "CANARY",
		"curl -H 'Authorization: Bearer CANARY" + rnd + "' https://example.com",
		"use bearer CANARY" + rnd,
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJDQU5BUlkifQ.CANARY_" + rnd,
		"key AKIA" + "IOSFODNN7CANARY1 in use",
		"ghp_" + "CANARY" + rnd, "see github_pat_" + "CANARY" + rnd + "!", "xoxb-" + "123-CANARY" + rnd,
		"AIza" + "CANARY" + rnd + rnd, "sk_live_" + "CANARY" + rnd, "sk-ant-" + "CANARY" + rnd, "jct_" + "CANARY" + rnd,
		"-----BEGIN RSA PRIVATE KEY-----\nMIICANARY\nabc=\n-----END RSA PRIVATE KEY-----",
		"-----BEGIN OPENSSH PRIVATE KEY-----\nCANARY never ends",
		"password=CANARY", "password: CANARY", `password = "CANARY with spaces"`, `{'db_password': 'CANARY'}`, `--token CANARY`, `--password=CANARY`,
		`he said \"apiKey\": \"CANARY\"`, "https://ann:CANARY@example.com/x", "https://example.com/?a=1&api_key=CANARY&b=2",
		"postgres://u:CANARY@h/db", "Set-Cookie: sid=CANARY; Path=/; HttpOnly", "client_secret => CANARY",
		"the value " + "CANARYa8Fk2Lq9ZxT4vBn7RwY3cJ5mP1sD6g" + " was drawn",
		"wJalrXUtnFEMI/K7MDENG/bPxRfiCYCANARY8z2Q4",
	}
}

func TestRedactByLook(t *testing.T) {
	t.Parallel()
	r := newRedactor(4096)
	for _, s := range secretTexts() {
		if got := string(r.redactText("before " + s + "\nafter")); strings.Contains(got, "CANARY") || !strings.HasPrefix(got, "before") {
			t.Errorf("%s\n got %s", s, got)
		}
		if got := string(r.redactText(s)); strings.Contains(got, "CANARY") {
			t.Errorf("%s\n got %s", s, got)
		}
	}
}

// What people write, and what machines write that is no secret, stays.
func TestHarmlessTextStays(t *testing.T) {
	t.Parallel()
	r := newRedactor(4096)
	for _, s := range []string{
		"The quick brown fox jumps over the lazy dog; basic authentication is a bearer of bad news.",
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "550e8400-e29b-41d4-a716-446655440000",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30", "getUserByIdAndOrganizationNameWithCacheV2Handler",
		"https://example.com/a/b/c?page=2&sort=asc#top", "https://example.com/@ann/posts", "2026-05-04T03:02:01.123456Z", "max_tokens is 100",
		"THIS_IS_A_VERY_LONG_CONSTANT_NAME_OF_VERSION_2", "ann@example.com", "github.com/junctor-mcp/junctor/internal/store/sqlite",
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "a=b, c: d", "sk-8 skates", "Bearer of the ring",
	} {
		if got := string(r.redactText(s)); got != s {
			t.Errorf("%s\n got %s", s, got)
		}
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 4000)
	for name, in := range map[string]string{
		"text":    `{"a":"` + long + `"}`,
		"members": `{"a":1,` + strings.Repeat(`"bcd":"efgh ijkl",`, 2000) + `"z":2}`,
		"items":   `[` + strings.Repeat(`{"x":[1,2,3]},`, 2000) + `1]`,
		"deep":    strings.Repeat(`[`, 500) + strings.Repeat(`]`, 500),
		"inside":  `{"text":` + quoted(`{"a":"`+long+`"}`) + `}`,
		"no JSON": long,
		"one":     quoted(strings.Repeat("x", 20000)),
		"escapes": `"` + strings.Repeat(`\n\u0001é`, 4000) + `"`,
	} {
		for _, most := range []int{256, 1000, 4096} {
			r := newRedactor(most)
			r.reset()
			seen := min(len(in), 2*most+4096)
			got := string(r.redactParams([]byte(in[:seen]), len(in), nil))
			if len(got) > most || !json.Valid([]byte(got)) || !utf8.ValidString(got) {
				t.Errorf("%s to %d: %d bytes, valid %t: %.300s", name, most, len(got), json.Valid([]byte(got)), got)
			}
			if want := fmt.Sprintf("[cut: %d bytes in all]", len(in)); name != "deep" && strings.Count(got, want) != 1 && name != "inside" {
				t.Errorf("%s to %d: %q is not told once: %s", name, most, want, got)
			}
			if !strings.Contains(got, "[cut: ") {
				t.Errorf("%s to %d: not told that it was cut", name, most)
			}
		}
	}
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// Wherever the input or the output ends, no piece of a secret gets through, and
// what comes out is JSON.
func TestNoSecretCrossesACut(t *testing.T) {
	t.Parallel()
	texts := secretTexts()
	rapid.Check(t, func(rt *rapid.T) {
		secret := rapid.SampledFrom(texts).Draw(rt, "secret")
		filler := strings.Repeat("lorem ipsum ", rapid.IntRange(0, 40).Draw(rt, "before"))
		var body any = map[string]any{"a": filler, "b": []any{filler + secret + " " + filler, map[string]any{"password": "CANARY by name"}}, "c": "CANARY by name"}
		for range rapid.IntRange(0, 2).Draw(rt, "nested") {
			inner, _ := json.Marshal(body)
			body = map[string]any{"text": string(inner)}
		}
		in, _ := json.Marshal(body)
		r := newRedactor(rapid.IntRange(minMax, 2000).Draw(rt, "max"))
		r.reset()
		seen := rapid.IntRange(1, len(in)).Draw(rt, "seen")
		got := string(r.redactParams(in[:seen], len(in), nil))
		if strings.Contains(got, "CANARY") || strings.Contains(got, "CANAR") && !strings.Contains(string(in[:seen]), "CANARY") {
			rt.Fatalf("%s\nof %s\ngave %s", secret, in[:seen], got)
		}
		if !json.Valid([]byte(got)) || len(got) > r.maxBytes {
			rt.Fatalf("%d bytes of %d, not JSON: %s", len(got), r.maxBytes, got)
		}
	})
}

func FuzzRedact(f *testing.F) {
	for _, s := range secretTexts() {
		f.Add([]byte(`{"a":`+quoted(s)+`}`), 300, 2)
		f.Add([]byte(s), 256, 0)
	}
	f.Add([]byte(`{"a":"\u12`), 256, 7)
	f.Add([]byte(`{"value":{"name":"x`), 256, 3)
	f.Fuzz(func(t *testing.T, in []byte, most, missing int) {
		if len(in) == 0 || missing < 0 {
			return
		}
		r := newRedactor(min(max(most, minMax), 1<<16))
		r.reset()
		got := string(r.redactParams(in, len(in)+missing, newSecretPaths([]string{"/a/*", ""}, nil).params))
		if !json.Valid([]byte(got)) || len(got) > r.maxBytes {
			t.Fatalf("%d bytes of %d: %q", len(got), r.maxBytes, got)
		}
		if json.Valid(in) && missing == 0 && got == "" {
			t.Fatal("nothing is left")
		}
	})
}
