package junctor

import (
	"regexp"
	"time"
)

// Mode says where a server's tools come from.
type Mode string

// Modes of servers.
const (
	ModeBuiltin   Mode = "builtin"        // Go tools inside the binary
	ModeBYO       Mode = "bring-your-own" // an MCP server at a URL, or a command
	ModeGenerated Mode = "auto-generated" // made from an API's documentation
	ModeFound     Mode = "discovered"     // an agent's own endpoint, found on a chain: deliveries alone call it
)

// ServerState is how a server is doing.
type ServerState string

// States of servers.
const (
	StateActive   ServerState = "active"
	StateInactive ServerState = "inactive" // switched off by a person
	StateError    ServerState = "error"    // wanted, but not working: LastError says why
)

// Server is a source of tools, resources and prompts.
type Server struct {
	ID        string      `json:"id"`
	Tenant    TenantID    `json:"-"`
	Mode      Mode        `json:"mode"`
	Title     string      `json:"title,omitempty"`
	State     ServerState `json:"state"`
	LastError string      `json:"last_error,omitempty"`
	Owner     string      `json:"owner,omitempty"`    // who added it, as Principal.ID says; "" for what is built in
	Private   bool        `json:"private,omitempty"`  // its owner alone sees it
	Declared  string      `json:"declared,omitempty"` // the file that declares it, where alone it can be changed
	Found     string      `json:"found,omitempty"`    // the agent on a chain whose registration names it, of a discovered one
	CreatedAt time.Time   `json:"created_at"`
	UpdatedAt time.Time   `json:"updated_at"`
	UpdatedBy string      `json:"updated_by,omitempty"` // who changed it last, as Principal.ID says; "" is unknown

	Connection        // of a bring-your-own server; an auto-generated one has the API's address and credentials there
	API        *API   `json:"api,omitempty"` // of an auto-generated server
	Credential string `json:"-"`             // names the sealed credentials; "" where there are none
	Trusted    bool   `json:"-"`             // the operator entered the connection: it may lead to this machine itself

	// Restricted says that command, variables, headers and the like were left out
	// for a caller who is neither the owner nor an admin. It is never stored.
	Restricted bool `json:"restricted,omitempty"`
}

// AdhocServer is the id under which calls of endpoints that are no registered
// server run. No server can have it.
const AdhocServer = "adhoc"

// CatalogServer is the id under which the tools that find and describe others
// run. It is no id that a server could have.
const CatalogServer = "_catalog"

// ServerIDPattern is what a server id looks like. It has no underscore, so the
// shown name server__tool can be read in one way only.
const ServerIDPattern = `^[a-z][a-z0-9-]{0,31}$`

// CheckServerID refuses what is not a server id, and says what one is.
func CheckServerID(id string) error {
	if ok, _ := regexp.MatchString(ServerIDPattern, id); !ok {
		return Errorf(CodeInvalid, "%q is not a server id: use a lower-case letter, then up to 31 lower-case letters, digits or hyphens", id)
	}
	return nil
}
