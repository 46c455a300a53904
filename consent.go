package junctor

import "time"

// Client is a program that asks people whether it may act for them (an OAuth
// client) and that has registered itself. What it says of itself nobody has made
// sure of.
type Client struct {
	ID        string
	Name      string
	Redirects []string // where people may be sent back to
	CreatedAt time.Time
}

// Consent is what a person lets a program do for them at one door. The program
// holds tokens for it, of which only hashes are kept.
type Consent struct {
	ID         string    `json:"id"`
	Tenant     TenantID  `json:"-"`
	User       string    `json:"user"`        // who consented, by id
	Client     string    `json:"client"`      // the program: the address where it says who it is, or the id that it was given here
	ClientName string    `json:"client_name"` // what it calls itself
	Redirect   string    `json:"redirect"`    // where the person was sent back to
	Resource   string    `json:"resource"`    // the door, by its address
	Scopes     []Scope   `json:"scopes"`
	CreatedAt  time.Time `json:"created_at"`
	UpdatedAt  time.Time `json:"updated_at"`            // when the person last said so
	LastUsedAt time.Time `json:"last_used_at,omitzero"` // when the program last got a token
}
