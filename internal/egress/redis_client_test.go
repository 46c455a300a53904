package egress

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
)

// redisServer is a Redis by a script: it answers each command with what answer returns,
// and "" ends the connection. A real Redis takes part in test/events, test/replicas and
// test/limits.
type redisServer struct {
	net.Listener

	mu       sync.Mutex
	commands []string
	conns    []net.Conn
}

func serveRedis(t *testing.T, answer func(command string) string) *redisServer {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &redisServer{Listener: l}
	t.Cleanup(func() { s.Close(); s.cut() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, conn)
			s.mu.Unlock()
			go s.serve(conn, answer)
		}
	}()
	return s
}

func (s *redisServer) serve(conn net.Conn, answer func(string) string) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for {
		budget := int64(1 << 30)
		request, err := readRedisReply(r, &budget, 0)
		if err != nil {
			return
		}
		var words []string
		for _, w := range request.([]any) { //nolint:forcetypeassert // a command is an array
			words = append(words, w.(string)) //nolint:forcetypeassert // of strings
		}
		command := strings.Join(words, " ")
		s.mu.Lock()
		s.commands = append(s.commands, command)
		s.mu.Unlock()
		reply := answer(command)
		if _, err := io.WriteString(conn, reply); err != nil || reply == "" {
			return
		}
	}
}

// cut ends all connections.
func (s *redisServer) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.conns {
		_ = conn.Close()
	}
}

func (s *redisServer) count() (commands []string, connections int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.commands...), len(s.conns)
}

// client returns a client of the server. Its time-out is so long that it never passes on a
// busy machine: TestRedisTimeouts tests time-outs, in its own time.
func (s *redisServer) client(t *testing.T, o RedisOptions) *RedisClient {
	t.Helper()
	o.Address, o.Timeout = s.Addr().String(), 2*time.Minute
	c := NewRedisClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestParseRedisURL(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]RedisOptions{
		"redis://h":                       {Address: "h:6379"},
		"redis://h:1/":                    {Address: "h:1"},
		"rediss://h/3":                    {Address: "h:6379", Database: 3, Secure: true},
		"redis://:p%40@h:1/0":             {Address: "h:1", Password: "p@"},
		"redis://me:secret@[::1]:7/12?":   {Address: "[::1]:7", Username: "me", Password: "secret", Database: 12},
		"redis://h?db=4":                  {Address: "h:6379", Database: 4},
		"redis://user-without-password@h": {Address: "h:6379", Username: "user-without-password"},
	} {
		got, err := ParseRedisURL(address)
		if d := cmp.Diff(want, got, cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "Dial" }, cmp.Ignore())); err != nil || d != "" {
			t.Errorf("%s: %v %s", address, err, d)
		}
	}
	for _, address := range []string{"", "h:6379", "http://h", "redis://", "redis://:canary@", "redis://:canary@h/x", "redis://:canary@h/1/2", "redis://:canary@h/-1", "redis://:canary@h?protocol=3", "redis://:canary@h/1?db=2", "redis://:canary@h?db=1&db=2", "unix:///canary", "redis://:canary@h:port"} {
		if o, err := ParseRedisURL(address); junctor.CodeOf(err) != junctor.CodeInvalid || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %+v %v", address, o, err)
		}
	}
}

func TestRedisReplies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reply string
		want  any
		fails string
	}{
		{"+PONG\r\n", "PONG", ""},
		{":-42\r\n", int64(-42), ""},
		{"$0\r\n\r\n", "", ""},
		{"$4\r\na\r\nb\r\n", "a\r\nb", ""},
		{"$-1\r\n", nil, ""},
		{"*-1\r\n", nil, ""},
		{"*0\r\n", []any{}, ""},
		{"*3\r\n$1\r\na\r\n*1\r\n:1\r\n$-1\r\n", []any{"a", []any{int64(1)}, nil}, ""},
		{"-WRONGTYPE of a key\r\n", nil, "WRONGTYPE of a key"},
		{"+" + strings.Repeat("x", 20<<10) + "\r\n", strings.Repeat("x", 20<<10), ""},
		{"$70000\r\n" + strings.Repeat("y", 70000) + "\r\n", strings.Repeat("y", 70000), ""},
		{"", nil, "closed the connection"},
		{"HTTP/1.1 400 Bad Request\r\n\r\n", nil, "is no Redis"},
		{"+no line end\n", nil, "is no Redis"},
		{"$3\r\nabcd\r\n", nil, "is no Redis"},
		{"$-2\r\n", nil, "is no Redis"},
		{"$99999999999999999999\r\n", nil, "is no Redis"},
		{"$999999999999\r\n", nil, "is no Redis"},
		{":\r\n", nil, "is no Redis"},
		{"\r\n", nil, "is no Redis"},
		{"%1\r\n+a\r\n+b\r\n", nil, "is no Redis"},
		{"+two\r\n+replies\r\n", nil, "is no Redis"},
		{strings.Repeat("*1\r\n", 20) + ":1\r\n", nil, "is no Redis"},
		{"+" + strings.Repeat("x", 100<<10), nil, "is no Redis"},
	} {
		s := serveRedis(t, func(string) string { return c.reply })
		got, err := s.client(t, RedisOptions{}).Do(t.Context(), "GET", "k")
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%.40q: %v, %v", c.reply, got, err)
			}
			continue
		}
		if d := cmp.Diff(c.want, got); err != nil || d != "" {
			t.Errorf("%.40q: %v %s", c.reply, err, d)
		}
	}
}

func TestRedisSignsIn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o    RedisOptions
		want []string
	}{
		{RedisOptions{}, []string{"PING"}},
		{RedisOptions{Password: "p"}, []string{"AUTH p", "PING"}},
		{RedisOptions{Username: "u", Password: "p", Database: 3}, []string{"AUTH u p", "SELECT 3", "PING"}},
	} {
		s := serveRedis(t, func(string) string { return "+OK\r\n" })
		if _, err := s.client(t, c.o).Do(t.Context(), "PING"); err != nil {
			t.Error(err)
		}
		if got, _ := s.count(); cmp.Diff(c.want, got) != "" {
			t.Errorf("%v", got)
		}
	}
	s := serveRedis(t, func(string) string { return "-WRONGPASS invalid username-password pair\r\n" })
	c := s.client(t, RedisOptions{Password: "p"})
	for range 3 {
		if _, err := c.Do(t.Context(), "PING"); !HasRedisErrorPrefix(err, "WRONGPASS") {
			t.Error(err)
		}
	}
}

// TestRedisRefusesTheDatabase has a Redis refuse the database of the settings. No command
// is sent: it would read and write another database.
func TestRedisRefusesTheDatabase(t *testing.T) {
	t.Parallel()
	s := serveRedis(t, func(command string) string {
		if strings.HasPrefix(command, "SELECT") {
			return "-ERR DB index is out of range\r\n"
		}
		return "+OK\r\n"
	})
	c := s.client(t, RedisOptions{Database: 99})
	for range 2 {
		if _, err := c.Do(t.Context(), "SET", "k", "v"); !HasRedisErrorPrefix(err, "ERR") || !strings.Contains(err.Error(), "out of range") {
			t.Errorf("%v", err)
		}
	}
	if got, _ := s.count(); cmp.Diff([]string{"SELECT 99", "SELECT 99"}, got) != "" {
		t.Errorf("it received %v", got)
	}
}

func TestRedisScriptIsSentOnce(t *testing.T) {
	t.Parallel()
	known := false
	s := serveRedis(t, func(command string) string {
		if strings.HasPrefix(command, "EVAL ") {
			known = true
		}
		if !known {
			return "-NOSCRIPT No matching script. Please use EVAL.\r\n"
		}
		return "*2\r\n:1\r\n:2\r\n"
	})
	c, script := s.client(t, RedisOptions{}), NewRedisScript("return {1, 2}")
	for range 2 {
		got, err := c.Run(t.Context(), script, []string{"k"}, 5, "x")
		if d := cmp.Diff([]any{int64(1), int64(2)}, got); err != nil || d != "" {
			t.Errorf("%v %s", err, d)
		}
	}
	digest := "EVALSHA " + script.digest + " 1 k 5 x"
	if got, _ := s.count(); cmp.Diff([]string{digest, "EVAL return {1, 2} 1 k 5 x", digest}, got) != "" {
		t.Errorf("%q", got)
	}
}

func TestRedisTransaction(t *testing.T) {
	t.Parallel()
	answers := func(queued, exec string) func(string) string {
		return func(command string) string {
			switch command {
			case "MULTI":
				return "+OK\r\n"
			case "EXEC":
				return exec
			}
			return queued
		}
	}
	for _, c := range []struct {
		queued, exec string
		want         []any
		fails        string
	}{
		{"+QUEUED\r\n", "*2\r\n$1\r\na\r\n$-1\r\n", []any{"a", nil}, ""},
		{"+QUEUED\r\n", "*2\r\n:1\r\n-WRONGTYPE x\r\n", []any{int64(1), RedisError("WRONGTYPE x")}, "WRONGTYPE x"},
		{"-ERR unknown command\r\n", "-EXECABORT discarded\r\n", nil, "ERR unknown command"},
		{"+QUEUED\r\n", "*-1\r\n", nil, "not a valid reply"},
		{"+QUEUED\r\n", "*1\r\n:1\r\n", nil, "not a valid reply"},
	} {
		s := serveRedis(t, answers(c.queued, c.exec))
		got, err := s.client(t, RedisOptions{}).Transaction(t.Context(), [][]any{{"LMOVE", "a", "b", "RIGHT", "LEFT"}, {"SET", "k", []byte("v")}})
		if d := cmp.Diff(c.want, got, cmp.Comparer(func(a, b RedisError) bool { return a == b })); d != "" || (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%q: %v %s", c.exec, err, d)
		}
	}
}

// TestRedisComesBack ends all connections of a client, as a Redis that is restarted does.
// The client opens new ones, and no command is sent twice.
func TestRedisComesBack(t *testing.T) {
	t.Parallel()
	for _, unused := range []time.Duration{0, 2 * redisIdleCheck, 2 * redisMaxIdle} {
		s := serveRedis(t, func(command string) string { return "+" + command + "\r\n" })
		c := s.client(t, RedisOptions{MaxConnections: 4})
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				if got, err := c.Do(t.Context(), "GET", "k"); err != nil || got != "GET k" {
					t.Errorf("%v %v", got, err)
				}
			})
		}
		all.Wait()
		if _, n := s.count(); n > 4 {
			t.Errorf("%d connections", n)
		}
		s.cut()
		c.mu.Lock()
		for _, conn := range c.idle {
			conn.usedAt = conn.usedAt.Add(-unused)
		}
		c.mu.Unlock()
		failed := 0
		for n := range 6 {
			if _, err := c.Do(t.Context(), "SET", "k", n); err != nil {
				failed++
			}
		}
		// Connections that were used a moment ago are not checked: one command fails.
		if most := map[bool]int{true: 1, false: 0}[unused == 0]; failed > most {
			t.Errorf("idle for %s: %d commands failed", unused, failed)
		}
		commands, _ := s.count()
		seen := map[string]int{}
		for _, command := range commands {
			if seen[command]++; strings.HasPrefix(command, "SET") && seen[command] > 1 {
				t.Errorf("%s was sent twice", command)
			}
		}
	}
}

func TestRedisTimeouts(t *testing.T) {
	t.Parallel()
	code := func(err error, want junctor.Code) {
		t.Helper()
		if junctor.CodeOf(err) != want {
			t.Errorf("%v is %s, want %s", err, junctor.CodeOf(err), want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		s := &redisServer{}
		answer := func(command string) string {
			switch command {
			case "HANG":
				<-release
			case "BLMOVE b":
				stop()
				fallthrough
			case "BLMOVE a":
				time.Sleep(300 * time.Millisecond) // a Redis without an element answers late
				return "$-1\r\n"
			}
			return "+OK\r\n"
		}
		dial := func(context.Context, string, bool) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go s.serve(theirs, answer)
			return ours, nil
		}
		c := NewRedisClient(RedisOptions{Address: "redis:6379", Dial: dial, Timeout: 200 * time.Millisecond, MaxConnections: 1})
		took := func(want time.Duration, do func()) {
			t.Helper()
			began := time.Now()
			do()
			if got := time.Since(began); got != want {
				t.Errorf("it took %s, want %s", got, want)
			}
		}
		took(200*time.Millisecond, func() {
			_, err := c.Do(t.Context(), "HANG")
			code(err, junctor.CodeTimeout)
		})
		took(300*time.Millisecond, func() {
			if got, err := c.DoBlocking(t.Context(), time.Second, "BLMOVE", "a"); got != nil || err != nil {
				t.Errorf("a command that may wait: %v %v", got, err)
			}
		})
		took(50*time.Millisecond, func() {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			_, err := c.Do(ctx, "HANG")
			code(err, junctor.CodeTimeout)
		})
		// A command that was sent is not given up when its context is cancelled.
		took(300*time.Millisecond, func() {
			if _, err := c.DoBlocking(ctx, time.Second, "BLMOVE", "b"); err != nil {
				t.Error(err)
			}
		})
		_, err := c.Do(ctx, "PING")
		code(err, junctor.CodeCanceled)
		// The only connection is in use.
		go func() { _, _ = c.DoBlocking(context.Background(), time.Minute, "HANG") }()
		synctest.Wait()
		took(200*time.Millisecond, func() {
			_, err := c.Do(t.Context(), "PING")
			code(err, junctor.CodeTimeout)
		})
		close(release)
		synctest.Wait()
		_ = c.Close()
	})
	// Nothing listens at port 1. The port of a listener that was closed may be another's by now.
	_, err := NewRedisClient(RedisOptions{Address: "127.0.0.1:1", Timeout: 2 * time.Minute}).Do(t.Context(), "PING")
	code(err, junctor.CodeUnreachable)
}

// TestRedisLongPipeline sends and receives more than fits into the buffers of a
// connection: neither side waits for the other.
func TestRedisLongPipeline(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("z", 1<<20)
	s := serveRedis(t, func(string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(long), long) })
	var commands [][]any
	for range 32 {
		commands = append(commands, []any{"SET", "k", long})
	}
	got, err := s.client(t, RedisOptions{}).Pipeline(t.Context(), commands)
	if err != nil || len(got) != 32 || got[31] != long {
		t.Errorf("%d replies, %v", len(got), err)
	}
	if _, err := s.client(t, RedisOptions{}).Do(t.Context(), "SET", 1.5); junctor.CodeOf(err) != junctor.CodeInternal {
		t.Error(err)
	}
}

// TestRedisPassword holds that a password may have every character.
func TestRedisPassword(t *testing.T) {
	t.Parallel()
	u := url.URL{Scheme: "redis", User: url.UserPassword("me", "a/b?c#d@e:f"), Host: "127.0.0.1:1", Path: "/7"}
	o, err := ParseRedisURL(u.String())
	if err != nil || o.Password != "a/b?c#d@e:f" || o.Database != 7 {
		t.Errorf("%+v %v", o, err)
	}
}

// FuzzRedisReply reads arbitrary bytes as a reply, whole and in single bytes.
func FuzzRedisReply(f *testing.F) {
	for _, seed := range []string{"+OK\r\n", ":1\r\n", "$3\r\nabc\r\n", "*2\r\n$-1\r\n*1\r\n:1\r\n", "-ERR x\r\n", "$9999999\r\nab", "*9999999999\r\n", strings.Repeat("*1\r\n", 10)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, reply []byte) {
		var got [2]any
		var errs [2]error
		for i, r := range []io.Reader{bytes.NewReader(reply), iotest.OneByteReader(bytes.NewReader(reply))} {
			budget := int64(1 << 20)
			got[i], errs[i] = readRedisReply(bufio.NewReader(r), &budget, 0)
			if err := errs[i]; err != nil && !errors.Is(err, errRedisProtocol) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(got[0], got[1]); d != "" || (errs[0] == nil) != (errs[1] == nil) {
			t.Errorf("in single bytes: %v %v %s", errs[0], errs[1], d)
		}
	})
}
