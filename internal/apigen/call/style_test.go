package call_test

import (
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/apigen/call"
)

// Values of the table: plain ones as the OpenAPI text has them, and the same with
// reserved characters and Unicode.
const (
	blue     = `"blue"`
	colors   = `["blue","black"]`
	rgb      = `{"R":100,"G":200}`
	reserved = `"a/b?c=d&e,f"`
	strange  = `["ü;x","a b","50%"]`
	odd      = `{"k&y":"v=1","日":"本"}`
)

// The styles of RFC 6570 and OpenAPI 3, as they stand on the wire: all styles,
// with and without explode, of a value, an array and an object.
func TestStyles(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		place   call.Place
		style   string
		explode bool
		want    [6]string // blue, colors, rgb, reserved, strange, odd
	}{
		{call.Path, "simple", false, [6]string{"blue", "blue,black", "R,100,G,200", "a%2Fb%3Fc%3Dd%26e%2Cf", "%C3%BC%3Bx,a%20b,50%25", "k%26y,v%3D1,%E6%97%A5,%E6%9C%AC"}},
		{call.Path, "simple", true, [6]string{"blue", "blue,black", "R=100,G=200", "a%2Fb%3Fc%3Dd%26e%2Cf", "%C3%BC%3Bx,a%20b,50%25", "k%26y=v%3D1,%E6%97%A5=%E6%9C%AC"}},
		{call.Path, "label", false, [6]string{".blue", ".blue,black", ".R,100,G,200", ".a%2Fb%3Fc%3Dd%26e%2Cf", ".%C3%BC%3Bx,a%20b,50%25", ".k%26y,v%3D1,%E6%97%A5,%E6%9C%AC"}},
		{call.Path, "label", true, [6]string{".blue", ".blue.black", ".R=100.G=200", ".a%2Fb%3Fc%3Dd%26e%2Cf", ".%C3%BC%3Bx.a%20b.50%25", ".k%26y=v%3D1.%E6%97%A5=%E6%9C%AC"}},
		{call.Path, "matrix", false, [6]string{";color=blue", ";color=blue,black", ";color=R,100,G,200", ";color=a%2Fb%3Fc%3Dd%26e%2Cf", ";color=%C3%BC%3Bx,a%20b,50%25", ";color=k%26y,v%3D1,%E6%97%A5,%E6%9C%AC"}},
		{call.Path, "matrix", true, [6]string{";color=blue", ";color=blue;color=black", ";R=100;G=200", ";color=a%2Fb%3Fc%3Dd%26e%2Cf", ";color=%C3%BC%3Bx;color=a%20b;color=50%25", ";k%26y=v%3D1;%E6%97%A5=%E6%9C%AC"}},
		{call.Query, "form", false, [6]string{"color=blue", "color=blue,black", "color=R,100,G,200", "color=a%2Fb%3Fc%3Dd%26e%2Cf", "color=%C3%BC%3Bx,a%20b,50%25", "color=k%26y,v%3D1,%E6%97%A5,%E6%9C%AC"}},
		{call.Query, "form", true, [6]string{"color=blue", "color=blue&color=black", "R=100&G=200", "color=a%2Fb%3Fc%3Dd%26e%2Cf", "color=%C3%BC%3Bx&color=a%20b&color=50%25", "k%26y=v%3D1&%E6%97%A5=%E6%9C%AC"}},
		{call.Query, "spaceDelimited", false, [6]string{"color=blue", "color=blue%20black", "color=R%20100%20G%20200", "color=a%2Fb%3Fc%3Dd%26e%2Cf", "color=%C3%BC%3Bx%20a%20b%2050%25", "color=k%26y%20v%3D1%20%E6%97%A5%20%E6%9C%AC"}},
		{call.Query, "pipeDelimited", false, [6]string{"color=blue", "color=blue%7Cblack", "color=R%7C100%7CG%7C200", "color=a%2Fb%3Fc%3Dd%26e%2Cf", "color=%C3%BC%3Bx%7Ca%20b%7C50%25", "color=k%26y%7Cv%3D1%7C%E6%97%A5%7C%E6%9C%AC"}},
		{call.Query, "tabDelimited", false, [6]string{"color=blue", "color=blue%09black", "color=R%09100%09G%09200", "color=a%2Fb%3Fc%3Dd%26e%2Cf", "color=%C3%BC%3Bx%09a%20b%0950%25", "color=k%26y%09v%3D1%09%E6%97%A5%09%E6%9C%AC"}},
		{call.Query, "deepObject", true, [6]string{"color=blue", "color%5B0%5D=blue&color%5B1%5D=black", "color%5BR%5D=100&color%5BG%5D=200", "color=a%2Fb%3Fc%3Dd%26e%2Cf", "color%5B0%5D=%C3%BC%3Bx&color%5B1%5D=a%20b&color%5B2%5D=50%25", "color%5Bk%26y%5D=v%3D1&color%5B%E6%97%A5%5D=%E6%9C%AC"}},
		{call.Header, "simple", false, [6]string{"blue", "blue,black", "R,100,G,200", "a/b?c=d&e,f", "ü;x,a b,50%", "k&y,v=1,日,本"}},
		{call.Header, "simple", true, [6]string{"blue", "blue,black", "R=100,G=200", "a/b?c=d&e,f", "ü;x,a b,50%", "k&y=v=1,日=本"}},
		{call.Cookie, "form", false, [6]string{"color=blue", "color=blue,black", "color=R,100,G,200", "color=a%2Fb%3Fc%3Dd%26e%2Cf", "color=%C3%BC%3Bx,a%20b,50%25", "color=k%26y,v%3D1,%E6%97%A5,%E6%9C%AC"}},
		{call.Cookie, "form", true, [6]string{"color=blue", "color=blue; color=black", "R=100; G=200", "color=a%2Fb%3Fc%3Dd%26e%2Cf", "color=%C3%BC%3Bx; color=a%20b; color=50%25", "k%26y=v%3D1; %E6%97%A5=%E6%9C%AC"}},
	} {
		for i, value := range []string{blue, colors, rgb, reserved, strange, odd} {
			got, err := expand(call.Arg{Name: "c", Key: "color", Place: row.place, Style: row.style, Explode: row.explode}, value)
			if err != nil || got != row.want[i] {
				t.Errorf("%s %s explode=%v of %s:\n got %q, %v\nwant %q", row.place, row.style, row.explode, value, got, err, row.want[i])
			}
		}
	}
}

// expand gives what an argument looks like in its place.
func expand(a call.Arg, value string) (string, error) {
	p := call.Plan{Method: "GET", Path: "/x", Args: []call.Arg{a}}
	if a.Place == call.Path {
		p.Path = "/{" + a.Key + "}"
	}
	r, err := p.BuildRequest("https://api.test/v1", []byte(`{"`+a.Name+`":`+value+`}`), nil)
	if err != nil {
		return "", err
	}
	switch a.Place {
	case call.Path:
		return strings.TrimPrefix(r.URL.EscapedPath(), "/v1/"), nil
	case call.Header:
		return r.Header.Get(a.Key), nil
	case call.Cookie:
		return r.Header.Get("Cookie"), nil
	case call.Query, call.QueryString, call.Field, call.WholeBody, call.Variable:
	}
	return r.URL.RawQuery, nil
}

func TestReserved(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		place       call.Place
		value, want string
	}{
		{call.Query, `":/?#[]@!$&'()*+,;="`, "color=:/?%23[]@!$%26'()*%2B,;="},
		{call.Query, `"a%20b%zz ü"`, "color=a%20b%25zz%20%C3%BC"},
		{call.Path, `"a:b@c/d?e#f%2e"`, "a:b@c%2Fd%3Fe%23f%252e"},
	} {
		got, err := expand(call.Arg{Name: "c", Key: "color", Place: c.place, Style: "form", Explode: true, AllowReserved: true}, c.value)
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.value, got, err, c.want)
		}
	}
}

// What has nothing in it is not sent, and an empty text is.
func TestNothing(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`null`: "", `[]`: "", `{}`: "", `[null]`: "", `""`: "color=", `["",null,"x"]`: "color=&color=x", `{"a":null,"b":1}`: "b=1", `false`: "color=false", `1.50`: "color=1.50",
		`[[1,2],{"a":1}]`: "color=%5B1%2C2%5D&color=%7B%22a%22%3A1%7D",
	} {
		if got, err := expand(call.Arg{Name: "c", Key: "color", Place: call.Query, Style: "form", Explode: true}, value); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", value, got, err, want)
		}
	}
	if got, err := expand(call.Arg{Name: "c", Key: "color", Place: call.Query, Style: "deepObject", Explode: true}, `{"a":{"b":[1,{"c":"d"}]}}`); err != nil ||
		got != "color%5Ba%5D%5Bb%5D%5B0%5D=1&color%5Ba%5D%5Bb%5D%5B1%5D%5Bc%5D=d" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := expand(call.Arg{Name: "c", Key: "color", Place: call.Query, Media: "application/json"}, `{"a": [1]}`); err != nil || got != "color=%7B%22a%22%3A%20%5B1%5D%7D" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := expand(call.Arg{Name: "c", Key: "c", Place: call.QueryString, Media: "application/x-www-form-urlencoded"}, `{"a":"b&c","d":[1,2]}`); err != nil || got != "a=b%26c&d=1&d=2" {
		t.Errorf("%q, %v", got, err)
	}
}
