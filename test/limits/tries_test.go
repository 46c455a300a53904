package limits

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/junctor-mcp/junctor/internal/testkit"
)

// tryPassword signs in with a wrong password at a replica, and gives the status.
func tryPassword(t *testing.T, at *testkit.Instance, name string) int {
	t.Helper()
	form := url.Values{"name": {name}, "password": {"wrong"}}.Encode()
	return at.Do(t, http.MethodPost, "/login", form, "Authorization:", "Content-Type: application/x-www-form-urlencoded").Status
}

// The tries of a password are counted by all replicas together, and by each for
// itself while the Redis is unavailable.
func TestPasswordTriesAreShared(t *testing.T) {
	t.Parallel()
	s := start(t, 2)
	for n := range 10 {
		if status := tryPassword(t, s.replicas[n%2], "zoe"); status != http.StatusUnauthorized {
			t.Fatalf("try %d: %d", n, status)
		}
	}
	for i, r := range s.replicas {
		if status := tryPassword(t, r, "zoe"); status != http.StatusTooManyRequests {
			t.Errorf("one more at replica %d: %d", i, status)
		}
	}
	s.redis.Kill()
	refused := 0
	for range 10 {
		if tryPassword(t, s.replicas[0], "zoe") == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused < 5 {
		t.Errorf("%d of 10 tries were refused without the Redis: the replica forgot the 6 that it had counted", refused)
	}
}

// Registrations of programs are counted by all replicas together.
func TestRegistrationsAreShared(t *testing.T) {
	t.Parallel()
	s := start(t, 2)
	passed := 0
	for n := range 60 {
		switch r := s.replicas[n%2].Do(t, http.MethodPost, "/oauth/register", `{"redirect_uris":["https://a.example/"]}`); r.Status {
		case http.StatusCreated:
			passed++
		case http.StatusTooManyRequests:
		default:
			t.Fatalf("%d %s", r.Status, r.Body)
		}
	}
	if passed >= 50 { // 30 at once, and one in five seconds
		t.Errorf("%d of 60 registrations passed", passed)
	}
}
