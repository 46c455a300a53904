package egress

import (
	"context"
	"encoding/binary"
	"maps"
	"net"
	"net/netip"
	"sync"
	"testing"
)

// dnsServer answers questions for IPv4 addresses from a table, over UDP on
// loopback.
type dnsServer struct {
	conn  net.PacketConn
	mu    sync.Mutex
	names map[string]string
	seen  map[string]int
}

func newDNS(t *testing.T, names map[string]string) *dnsServer {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &dnsServer{conn: conn, names: names, seen: map[string]int{}}
	done := make(chan struct{})
	go func() { defer close(done); s.run() }()
	t.Cleanup(func() { conn.Close(); <-done })
	return s
}

func (s *dnsServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", s.conn.LocalAddr().String())
	}}
}

func (s *dnsServer) set(name, ip string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names[name] = ip
}

func (s *dnsServer) asked() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.seen)
}

func (s *dnsServer) run() {
	buf := make([]byte, 1500)
	for {
		n, from, err := s.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		if answer := s.answer(buf[:n]); answer != nil {
			_, _ = s.conn.WriteTo(answer, from)
		}
	}
}

// answer repeats the question and adds the one record there is.
func (s *dnsServer) answer(q []byte) []byte {
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
	s.mu.Lock()
	ip, ok := s.names[name]
	s.seen[name]++
	s.mu.Unlock()

	out := append([]byte{}, q[:end]...)
	out[2], out[3] = 0x84, 0x00 // an authoritative answer
	clear(out[6:header])
	switch {
	case !ok:
		out[3] = 3 // no such name
	case kind == 1: // an IPv4 address
		out[7] = 1
		out = append(out, 0xc0, header, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
		out = append(out, netip.MustParseAddr(ip).AsSlice()...)
	}
	return out
}
