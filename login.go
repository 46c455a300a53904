package junctor

import "time"

// Login is a user's session in a browser. The cookie's value is sent once; only
// its SHA-256 is stored.
type Login struct {
	ID         string    `json:"id"`
	Tenant     TenantID  `json:"-"`
	User       string    `json:"user"` // id of the user
	How        string    `json:"how"`  // LoginLink, LoginPassword, or the issuer that vouched
	Hash       [32]byte  `json:"-"`
	CreatedAt  time.Time `json:"created_at"`
	ExpiresAt  time.Time `json:"expires_at"`
	RevokedAt  time.Time `json:"revoked_at,omitzero"`
	LastUsedAt time.Time `json:"last_used_at,omitzero"`
}

// Ways to sign in that need no other party.
const (
	LoginLink     = "link" // a link for one use, made by the operator or an admin
	LoginPassword = "password"
)

// LoginIdle is how long a login lives without being used, and LoginLife how
// long in any case.
const (
	// LoginIdle is how long a login lives without use, LoginLife how long at
	// most.
	LoginIdle = 12 * time.Hour
	LoginLife = 30 * 24 * time.Hour
)

// Live reports whether the login is valid at the given time.
func (l *Login) Live(now time.Time) bool {
	used := l.CreatedAt
	if l.LastUsedAt.After(used) {
		used = l.LastUsedAt
	}
	return l.RevokedAt.IsZero() && now.Before(l.ExpiresAt) && now.Before(used.Add(LoginIdle))
}
