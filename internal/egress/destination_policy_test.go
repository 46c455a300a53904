package egress

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func prefixes(texts ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range texts {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

func newJudge(allow ...string) *destinationPolicy {
	p := prefixes(allow...)
	return &destinationPolicy{allow: p, guardian: newGuardian(p)}
}

// insiders are addresses that are not out on the Internet, whatever they look
// like.
func insiders() []string {
	return []string{
		"127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254", "0.0.0.0", "224.0.0.1",
		"100.64.0.1", "192.0.0.1", "198.18.0.1", "255.255.255.255",
		"::1", "::", "fe80::1", "fc00::1", "ff02::1", "fec0::1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "64:ff9b::7f00:1",
		"64:ff9b:1::a9fe:a9fe", "::127.0.0.1", "2001::1", "2001:db8::1", "100::1", "5f00::1",
	}
}

func networkOf(ip string) string {
	if strings.Contains(ip, ":") {
		return "tcp6"
	}
	return "tcp4"
}

func control(j *destinationPolicy, ip string, port int) error {
	return j.checkHTTPSDial(networkOf(ip), net.JoinHostPort(ip, fmt.Sprint(port)), nil)
}

func TestControlBlocksInsiders(t *testing.T) {
	t.Parallel()
	if len(insiders()) != 26 {
		t.Fatal("the table is not whole")
	}
	j := newJudge()
	for _, ip := range append(insiders(), "::ffff:127.0.0.1", "::ffff:a9fe:a9fe", "fe80::1%lo", "2606:4700:4700::1111%eth0") {
		err := control(j, ip, 443)
		if junctor.CodeOf(err) != junctor.CodeDenied {
			t.Errorf("%s: %v", ip, err)
			continue
		}
		if strings.Contains(err.Error(), ip) {
			t.Errorf("the message shows the address: %v", err)
		}
	}
}

func TestControlPassesPublic(t *testing.T) {
	t.Parallel()
	j := newJudge()
	for _, ip := range []string{"93.184.216.34", "2606:4700:4700::1111"} {
		for _, port := range []int{443, 80, 8443} {
			if err := control(j, ip, port); err != nil {
				t.Errorf("%s port %d: %v", ip, port, err)
			}
		}
		err := j.checkHTTPDial(networkOf(ip), net.JoinHostPort(ip, "80"), nil)
		if junctor.CodeOf(err) != junctor.CodeDenied || !strings.Contains(err.Error(), "use https") {
			t.Errorf("plain http to %s: %v", ip, err)
		}
	}
	for _, network := range []string{"udp4", "unix", "ip"} {
		if err := j.checkHTTPSDial(network, "93.184.216.34:443", nil); junctor.CodeOf(err) != junctor.CodeDenied {
			t.Errorf("%s: %v", network, err)
		}
	}
	if err := j.checkHTTPSDial("tcp4", "nonsense", nil); junctor.CodeOf(err) != junctor.CodeDenied {
		t.Errorf("nonsense: %v", err)
	}
}

func TestControlAllows(t *testing.T) {
	t.Parallel()
	j := newJudge("10.1.0.0/16", "127.0.0.0/8", "fd00::/8")
	for _, ip := range []string{"10.1.2.3", "127.0.0.1", "fd00::1"} {
		if err := j.checkHTTPDial(networkOf(ip), net.JoinHostPort(ip, "80"), nil); err != nil {
			t.Errorf("%s: %v", ip, err)
		}
	}
	for _, ip := range []string{"10.2.0.1", "192.168.0.1", "fc00::1", "::1", "::ffff:10.1.2.3"} {
		if err := control(j, ip, 443); junctor.CodeOf(err) != junctor.CodeDenied {
			t.Errorf("%s: %v", ip, err)
		}
	}
}

// A policy that allows everything still does not allow what only a mistake or an
// attack asks for.
func TestNeverDialled(t *testing.T) {
	t.Parallel()
	j := newJudge("0.0.0.0/0", "::/0")
	for _, ip := range []string{"169.254.169.254", "fe80::1", "224.0.0.1", "ff02::1", "0.0.0.0", "::", "::ffff:169.254.169.254"} {
		if err := control(j, ip, 80); junctor.CodeOf(err) != junctor.CodeDenied {
			t.Errorf("%s: %v", ip, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 2, 2).Draw(t, "b")
		ip := netip.AddrFrom4([4]byte{169, 254, b[0], b[1]})
		if err := control(j, ip.String(), 80); junctor.CodeOf(err) != junctor.CodeDenied {
			t.Fatalf("%s: %v", ip, err)
		}
	})
}

func TestURLs(t *testing.T) {
	t.Parallel()
	j := newJudge("10.1.0.0/16")
	tests := []struct {
		url     string
		code    junctor.Code // "" is allowed
		proxied junctor.Code
	}{
		{"https://example.com/x?y#z", "", ""},
		{"https://example.com:8443", "", ""},
		{"https://93.184.216.34", "", ""},
		{"https://10.1.2.3", "", ""},
		{"http://10.1.2.3", "", ""},
		{"http://name.inside", "", junctor.CodeDenied}, // without a proxy the dial decides
		{"https://localhost", "", junctor.CodeDenied},
		{"https://a.LOCALHOST.", "", junctor.CodeDenied},
		{"http://93.184.216.34", junctor.CodeDenied, junctor.CodeDenied},
		{"https://10.2.0.1", junctor.CodeDenied, junctor.CodeDenied},
		{"https://127.0.0.1", junctor.CodeDenied, junctor.CodeDenied},
		{"https://[::1]", junctor.CodeDenied, junctor.CodeDenied},
		{"https://[::]", junctor.CodeDenied, junctor.CodeDenied},
		{"https://[fe80::1%25lo]", junctor.CodeDenied, junctor.CodeDenied},
		{"https://[::ffff:10.1.2.3]", junctor.CodeDenied, junctor.CodeDenied},
		{"https://169.254.169.254/latest/meta-data", junctor.CodeDenied, junctor.CodeDenied},
		{"https://user@example.com", junctor.CodeDenied, junctor.CodeDenied},
		{"https://user:pass@example.com", junctor.CodeDenied, junctor.CodeDenied},
		{"https://@example.com", junctor.CodeDenied, junctor.CodeDenied},
		{"ftp://example.com", junctor.CodeDenied, junctor.CodeDenied},
		{"file:///etc/passwd", junctor.CodeDenied, junctor.CodeDenied},
		{"gopher://example.com", junctor.CodeDenied, junctor.CodeDenied},
		{"unix:///run/x", junctor.CodeDenied, junctor.CodeDenied},
		{"example.com", junctor.CodeDenied, junctor.CodeDenied},
		{"https://", junctor.CodeInvalid, junctor.CodeInvalid},
		{"https://127.1", junctor.CodeInvalid, junctor.CodeInvalid},
		{"https://127.0.0.1.", junctor.CodeInvalid, junctor.CodeInvalid},
		{"https://2130706433", junctor.CodeInvalid, junctor.CodeInvalid},
		{"https://0x7f000001", junctor.CodeInvalid, junctor.CodeInvalid},
		{"https://0x7f.1", junctor.CodeInvalid, junctor.CodeInvalid},
		{"https://127.0.0.0x1", junctor.CodeInvalid, junctor.CodeInvalid},
		{"https://0177.0.0.1", junctor.CodeInvalid, junctor.CodeInvalid},
		{"https://0", junctor.CodeInvalid, junctor.CodeInvalid},
		{"https://example.1", junctor.CodeInvalid, junctor.CodeInvalid},
		{"https://1.example", "", ""},
		{"https://0xyz", "", ""},
	}
	for _, tt := range tests {
		u, err := url.Parse(tt.url)
		if err != nil {
			t.Errorf("%s: %v", tt.url, err)
			continue
		}
		if err := j.checkURL(u, false); junctor.CodeOf(err) != tt.code {
			t.Errorf("%s: %v, want %q", tt.url, err, tt.code)
		}
		if err := j.checkURL(u, true); junctor.CodeOf(err) != tt.proxied {
			t.Errorf("%s through a proxy: %v, want %q", tt.url, err, tt.proxied)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	for name, opt := range map[string]Options{
		"no logger":    {},
		"no range":     {Logger: log, Allow: []netip.Prefix{{}}},
		"mapped range": {Logger: log, Allow: prefixes("::ffff:10.0.0.0/104")},
		"ftp proxy":    {Logger: log, Proxy: &url.URL{Scheme: "ftp", Host: "x"}},
		"empty proxy":  {Logger: log, Proxy: &url.URL{Scheme: "http"}},
	} {
		if _, err := New(opt); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func FuzzURL(f *testing.F) {
	for _, s := range []string{"https://example.com", "http://10.1.2.3", "https://127.1", "https://u@x", "https://[fe80::1%25lo]", "//", "https://."} {
		f.Add(s)
	}
	j := newJudge("10.1.0.0/16")
	f.Fuzz(func(t *testing.T, s string) {
		u, err := url.Parse(s)
		if err != nil || j.checkURL(u, false) != nil {
			return
		}
		if (u.Scheme != "http" && u.Scheme != "https") || u.User != nil {
			t.Fatalf("%q passed", s)
		}
		if ip, err := netip.ParseAddr(u.Hostname()); err == nil && control(j, ip.String(), 443) != nil {
			t.Fatalf("%q passed, but its dial would not", s)
		}
	})
}
