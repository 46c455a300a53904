package replicas

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestAddressesOfForwardedRequests denies calls by the address of their client, at whichever
// replica the room is in which they are made, and whichever received the request.
func TestAddressesOfForwardedRequests(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "--trusted-proxy", "127.0.0.0/8")
	if status, body := c.do("POST", "/api/v1/agents", counter); status != http.StatusCreated {
		t.Fatalf("%d %s", status, body)
	}
	var room struct{ ID string }
	status, body := c.do("POST", "/api/v1/rooms", `{"name":"Den","policy":"router","members":[{"agent":"counter"}]}`)
	if err := json.Unmarshal([]byte(body), &room); status != http.StatusCreated || err != nil {
		t.Fatalf("%d %s", status, body)
	}
	rules := `{"rules":[{"name":"not-from-there","target":{"items":["demo/*"]},"when":"cidr(request.address, \"203.0.113.0/24\")","verdict":"deny","message":"not from there"}]}`
	if status, body := c.do("PUT", "/api/v1/policies", rules); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	for n := range 6 {
		from, denied := "198.51.100.7", n%2 == 1
		if denied {
			from = "203.0.113.9"
		}
		in := c.replicas[n%len(c.replicas)] // behind no proxy but the one that the header names
		r, err := in.Request(t.Context(), http.MethodPost, "/api/v1/rooms/"+room.ID+"/runs",
			fmt.Sprintf(`{"threadId":%q,"runId":"r%d","messages":[{"id":"m%d","role":"user","content":"@counter what are 2 and 40?"}]}`, room.ID, n, n), "X-Forwarded-For: "+from)
		if err != nil || r.Status != http.StatusOK || strings.Contains(r.Body, "not from there") != denied {
			t.Errorf("from %s: %v, %d %s", from, err, r.Status, r.Body)
		}
	}
}
