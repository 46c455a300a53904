package junctor

import "time"

// Client is an OAuth client that registered itself, in order to ask users
// whether it may act for them. Its name and redirects are unverified claims.
type Client struct {
	ID        string
	Name      string
	Redirects []string // allowed redirect URIs
	CreatedAt time.Time
}

// Consent is a user's permission for a program to act for them at one endpoint.
// Only hashes of its tokens are stored.
type Consent struct {
	ID         string    `json:"id"`
	Tenant     TenantID  `json:"-"`
	User       string    `json:"user"`        // id of the user who consented
	Client     string    `json:"client"`      // the program: the URL of its metadata document, or the id of its registration
	ClientName string    `json:"client_name"` // name that the program claims
	Redirect   string    `json:"redirect"`    // redirect URI of the last consent
	Resource   string    `json:"resource"`    // URL of the endpoint
	Scopes     []Scope   `json:"scopes"`
	CreatedAt  time.Time `json:"created_at"`
	UpdatedAt  time.Time `json:"updated_at"`            // when the user last consented
	LastUsedAt time.Time `json:"last_used_at,omitzero"` // when the program last got a token
}
