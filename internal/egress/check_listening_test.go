package egress

import (
	"net"
	"os"
	"runtime"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
)

// An address is checked as it is named. Only those of all interfaces are checked on
// loopback.
func TestCheckListening(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.2:0") // not where localhost leads
	if err != nil {
		if os.Getenv("CI") != "" && runtime.GOOS == "linux" {
			t.Fatal(err)
		}
		t.Skip("this machine has no second loopback address: ", err)
	}
	defer l.Close()
	if err := CheckListening(t.Context(), l.Addr().String()); err != nil {
		t.Errorf("an address of its own: %v", err)
	}
	all, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	_, port, err := net.SplitHostPort(all.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"", "0.0.0.0", "::", "localhost", "127.0.0.1"} {
		if err := CheckListening(t.Context(), net.JoinHostPort(host, port)); err != nil {
			t.Errorf("%q: %v", host, err)
		}
	}
	if err := CheckListening(t.Context(), net.JoinHostPort("127.0.0.2", port)); junctor.CodeOf(err) != junctor.CodeUnreachable {
		t.Errorf("another address than the one that is listened on: %v", err)
	}
}
