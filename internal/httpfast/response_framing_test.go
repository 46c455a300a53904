package httpfast

import (
	"fmt"
	"net"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
)

const smuggledAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nsmuggled"

// TestClientRefusesAmbiguousFraming holds that an answer whose end two readers could
// find at different places is an error, and that nothing behind it is taken for the
// answer to the next request: its connection is closed.
func TestClientRefusesAmbiguousFraming(t *testing.T) {
	for name, answer := range map[string]string{
		"length, then coding": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"coding, then length": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
		"length zero":         "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"two lengths":         "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n",
		"coding of HTTP/1.0":  "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"longer than it says": "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, func(c net.Conn, n int, body string) bool {
				if n == 1 {
					return reply(c, answer+smuggledAnswer)
				}
				return echoes(c, n, body)
			})
			l := clientTo(t, s.url)
			status, got, err := say(t.Context(), l, "first")
			if name == "longer than it says" { // the answer itself is a good one
				if err != nil || got != "" {
					t.Fatalf("%d %q, %v", status, got, err)
				}
			} else if junctor.CodeOf(err) != junctor.CodeUpstream {
				t.Fatalf("%d %q, %v", status, got, err)
			}
			if got := must(t, l, "second"); got != "second" || s.conns.Load() != 2 {
				t.Errorf("the next request got %q, over %d connections", got, s.conns.Load())
			}
		})
	}
}

// TestAnswersGenerated pairs lengths and codings of every kind, and holds that each
// answer means here what it means to net/http, or is refused here; what is refused
// here alone is listed.
func TestAnswersGenerated(t *testing.T) {
	t.Parallel()
	lengths := []string{
		"", "Content-Length: 5", "Content-Length: 5, 5", "Content-Length: +5", "Content-Length: 05", "Content-Length:  5", "Content-Length: 5\t", "Content-Length:5",
		"Content-Length: 5\r\nContent-Length: 5", "Content-Length: 5\r\nContent-Length: 6", "Content-Length:", "Content-Length: -5", "Content-Length: 99999999999999999999",
		"Content-Length: 0x5", "Content-Length: 5 5", "Content-Length: 5\x00", "content-length: 5", "Content-Length : 5", " Content-Length: 5", "Content-Length: 5\rX: y", "Content-Length:\r\n 5",
	}
	codings := []string{
		"", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked, chunked", "Transfer-Encoding: identity", "Transfer-Encoding: xchunked", "Transfer-Encoding: Chunked",
		"Transfer-Encoding: chunked ", "Transfer-Encoding:\tchunked", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked",
		"Transfer-Encoding:", "Transfer-Encoding : chunked", "Transfer-Encoding:\r\n chunked",
	}
	bodies := []string{"0\r\n\r\n", "3\r\nabc\r\n0\r\n\r\n", "3;x=y\r\nabc\r\n0\r\nA: b\r\n\r\n", "3 \r\nabc\r\n0\r\n\r\n", "3\nabc\r\n0\r\n\r\n", "ffffffffffffffffff\r\nabc\r\n0\r\n\r\n", "3\r\nabc0\r\n\r\n", "3\r\nabc\r\n0\r\n"}
	// stricter says why an answer is refused here that net/http takes; "" is that it must not be.
	stricter := func(version, length, coding, body string) string {
		switch {
		case length != "" && coding != "":
			return "both a length and a coding"
		case strings.HasPrefix(length, "Content-Length: 5\r\nContent-Length: 5"):
			return "the same length twice"
		case strings.Contains(length+coding, " :"):
			return "a blank before the colon"
		case strings.Contains(length+coding, "\r\n ") || strings.HasPrefix(length, " "):
			return "a folded line"
		case version == "HTTP/1.0" && coding != "":
			return "a coding in HTTP/1.0"
		case strings.ContainsAny(length, "\x00\r") && !strings.Contains(length, "\r\n"):
			return "control characters in a value"
		case coding != "" && strings.HasPrefix(body, "3 \r\n"):
			return "blanks behind the size of a chunk"
		}
		return ""
	}
	taken, refused := 0, map[string]int{}
	for _, version := range []string{"HTTP/1.1", "HTTP/1.0"} {
		for _, length := range lengths {
			for _, coding := range codings {
				for _, body := range bodies {
					lines := ""
					for _, l := range []string{length, coding} {
						if l != "" {
							lines += l + "\r\n"
						}
					}
					data := fmt.Sprintf("%s 200 OK\r\n%s\r\n%s%s", version, lines, body, smuggledAnswer)
					got, err := parse(strings.NewReader(data))
					want, wantErr := oracle([]byte(data))
					switch why := stricter(version, length, coding, body); {
					case err == nil && wantErr != nil:
						t.Errorf("%q is taken as %+v, which net/http refuses: %v", data, got, wantErr)
					case err == nil:
						taken++
						if want.keeps = want.keeps && got.keeps; got != want {
							t.Errorf("%q: %+v here, %+v by net/http", data, got, want)
						}
					case wantErr == nil && why == "":
						t.Errorf("%q is refused here alone (%v), and not listed as such", data, err)
					case wantErr == nil:
						refused[why]++
					}
				}
			}
		}
	}
	t.Logf("%d were taken by both; refused here alone: %v", taken, refused)
	if taken == 0 || refused["both a length and a coding"] == 0 {
		t.Error("the table shows nothing")
	}
}
