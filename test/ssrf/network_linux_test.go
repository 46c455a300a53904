package ssrf

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

const inside = "JUNCTOR_TEST_EVERY_ADDRESS"

const (
	public  = "93.184.216.34"
	allowed = "198.51.100.7" // the operator let egress go there
)

// isolate runs the test again, in a network of its own in which every address
// is this machine, and says whether it is in there.
func isolate(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inside) != "" {
		for _, line := range []string{"link set lo up", "route add local 0.0.0.0/0 dev lo", "-6 route add local ::/0 dev lo"} {
			if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
				t.Fatalf("ip %s: %v\n%s", line, err, out)
			}
		}
		return true
	}
	var failed error
	for _, flags := range []uintptr{syscall.CLONE_NEWNET, syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET} {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=5m")
		cmd.Env = append(os.Environ(), inside+"=1", "GODEBUG=netdns=go")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags, Pdeathsig: syscall.SIGKILL}
		if flags&syscall.CLONE_NEWUSER != 0 {
			one := func(id int) []syscall.SysProcIDMap { return []syscall.SysProcIDMap{{HostID: id, Size: 1}} }
			cmd.SysProcAttr.UidMappings, cmd.SysProcAttr.GidMappings = one(os.Getuid()), one(os.Getgid())
		}
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		if failed = cmd.Start(); failed != nil {
			continue // not permitted: a network of one's own needs a user of one's own, too
		}
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		for line := range strings.SplitSeq(out.String(), "\n") {
			if _, said, ok := strings.Cut(line, "figure: "); ok {
				t.Logf("figure: %s", said)
			}
		}
		return false
	}
	program.Missing(t, "network namespaces: "+failed.Error())
	return false
}

// traps accept on all addresses and remember which were dialled.
type traps struct {
	port string // on which they listen, beside 80 and 443

	mu     sync.Mutex
	dialed map[netip.Addr]int
}

func setTraps(t *testing.T) *traps {
	t.Helper()
	tr := &traps{dialed: map[netip.Addr]int{}}
	for _, at := range []string{":0", ":80", ":443"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		if at == ":0" {
			_, tr.port, _ = net.SplitHostPort(l.Addr().String())
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				tr.took(c.LocalAddr())
				_ = c.Close()
			}
		}()
	}
	return tr
}

func (tr *traps) took(at net.Addr) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.dialed[at.(*net.TCPAddr).AddrPort().Addr().Unmap()]++
}

// take gives what was dialled since it was last asked, but for the public
// address.
func (tr *traps) take() []string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	var all []string
	for ip, n := range tr.dialed {
		if ip.String() != public {
			all = append(all, fmt.Sprintf("%v, %d times", ip, n))
			delete(tr.dialed, ip)
		}
	}
	return all
}

// dials is how often an address was dialled.
func (tr *traps) dials(ip string) int {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.dialed[netip.MustParseAddr(ip)]
}

// dns answers for the names of the test, where the system looks for an answer.
type dns struct {
	mu    sync.Mutex
	names map[string][]netip.Addr
	turns map[string]int
}

func startDNS(t *testing.T) *dns {
	t.Helper()
	d := &dns{names: map[string][]netip.Addr{}, turns: map[string]int{}}
	for name, ip := range named() {
		d.names[name] = []netip.Addr{ip}
	}
	file, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		t.Fatal(err)
	}
	servers := 0
	for line := range strings.SplitSeq(string(file), "\n") {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "nameserver" {
			continue
		}
		conn, err := net.ListenPacket("udp", net.JoinHostPort(words[1], "53"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		go d.serve(conn)
		servers++
	}
	if servers == 0 { // the resolver asks this machine
		conn, err := net.ListenPacket("udp", "127.0.0.1:53")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		go d.serve(conn)
	}
	return d
}

func (d *dns) set(name string, ips ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.names[name] = nil
	for _, ip := range ips {
		d.names[name] = append(d.names[name], netip.MustParseAddr(ip))
	}
}

// lookup gives the addresses of a name. The rebinding one changes with each
// question.
func (d *dns) lookup(name string) []netip.Addr {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch name {
	case rebinding + ".":
		d.turns[name]++
		return []netip.Addr{netip.MustParseAddr([]string{"127.0.0.1", public}[d.turns[name]%2])}
	case mixed + ".":
		return []netip.Addr{netip.MustParseAddr(public), netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")}
	}
	return d.names[name]
}

func (d *dns) serve(conn net.PacketConn) {
	buf := make([]byte, 1500)
	for {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		if answer := d.answer(buf[:n]); answer != nil {
			_, _ = conn.WriteTo(answer, from)
		}
	}
}

const (
	typeA    = 1
	typeAAAA = 28
)

// answer repeats the question and adds the records of its type.
func (d *dns) answer(q []byte) []byte {
	const header = 12
	name, end := "", header
	for end < len(q) && q[end] != 0 {
		next := end + 1 + int(q[end])
		if next >= len(q) {
			return nil
		}
		name += string(q[end+1:next]) + "."
		end = next
	}
	end += 5 // the root label, type and class
	if end > len(q) {
		return nil
	}
	kind := binary.BigEndian.Uint16(q[end-4:])
	out := append([]byte{}, q[:end]...)
	out[2], out[3] = 0x84, 0x00 // an authoritative answer
	clear(out[6:header])
	ips := d.lookup(strings.ToLower(name))
	if ips == nil {
		out[3] = 3 // no such name
		return out
	}
	for _, ip := range ips {
		if (kind == typeA) != ip.Is4() || kind != typeA && kind != typeAAAA {
			continue
		}
		out[7]++
		out = append(out, 0xc0, header, 0, byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(ip.BitLen()/8))
		out = append(out, ip.AsSlice()...)
	}
	return out
}
