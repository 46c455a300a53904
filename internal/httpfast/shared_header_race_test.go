//go:build race

package httpfast_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A handler that changes the header of its request is found out, whatever it does
// to it; one that does not is not.
func TestHeadersStayAsTheyCame(t *testing.T) {
	t.Parallel()
	s := start(t, limits(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch b, _ := io.ReadAll(r.Body); string(b) {
		case "add":
			r.Header.Add("X", "2")
		case "set":
			r.Header.Set("X", "2")
		case "del":
			r.Header.Del("X")
		case "value":
			r.Header["X"][0] = "2"
		}
		_, _ = io.WriteString(w, "fine")
	})))
	for _, what := range []string{"nothing", "add", "set", "del", "value"} {
		c, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		_, _ = io.WriteString(c, post(what, "X: 1")+post("nothing", "X: 1", "Connection: close"))
		all, _ := io.ReadAll(c)
		_ = c.Close()
		want := 0
		if what == "nothing" {
			want = 2
		}
		if got := strings.Count(string(all), "fine"); got != want {
			t.Errorf("%s: %d answers, want %d: %s", what, got, want, all)
		}
	}
}
