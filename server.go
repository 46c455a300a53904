package junctor

import (
	"regexp"
	"time"
)

// Mode is the kind of a server.
type Mode string

// Modes of servers.
const (
	ModeBuiltin    Mode = "builtin"        // Go tools inside the binary
	ModeBYO        Mode = "bring-your-own" // an MCP server at a URL, or a command
	ModeGenerated  Mode = "auto-generated" // made from an API's documentation
	ModeDiscovered Mode = "discovered"     // the endpoint of a discovered agent; only deliveries call it
)

// ServerState is the state of a server.
type ServerState string

// States of servers.
const (
	StateActive   ServerState = "active"
	StateInactive ServerState = "inactive" // disabled by a user
	StateError    ServerState = "error"    // enabled, but not working; LastError is the reason
)

// Server is a source of tools, resources and prompts.
type Server struct {
	ID         string      `json:"id"`
	Tenant     TenantID    `json:"-"`
	Mode       Mode        `json:"mode"`
	Title      string      `json:"title,omitempty"`
	State      ServerState `json:"state"`
	LastError  string      `json:"last_error,omitempty"`
	Owner      string      `json:"owner,omitempty"`      // Principal.ID of the creator; "" if built in
	Private    bool        `json:"private,omitempty"`    // only its owner sees it
	Declared   string      `json:"declared,omitempty"`   // the settings file that declares it, and the only place to change it
	Discovered string      `json:"discovered,omitempty"` // for a discovered server: the agent whose registration names it
	CreatedAt  time.Time   `json:"created_at"`
	UpdatedAt  time.Time   `json:"updated_at"`
	UpdatedBy  string      `json:"updated_by,omitempty"` // Principal.ID of the last change; "" if unknown

	Connection        // of an upstream server; for a generated one, URL and credentials of the API
	API        *API   `json:"api,omitempty"` // of a generated server
	Credential string `json:"-"`             // name of the sealed credentials; "" if there are none
	Trusted    bool   `json:"-"`             // an operator entered the connection, so loopback and private addresses are allowed

	// Restricted is set on a copy without command, environment, headers and the
	// like, for a caller who is neither the owner nor an admin. It is never
	// stored.
	Restricted bool `json:"restricted,omitempty"`
}

// AdhocServer is the server id of calls to servers that are not registered
// (/mcp/call). No registered server can have it.
const AdhocServer = "adhoc"

// CatalogServer is the server id of the tools that find and describe other
// tools. It is not a valid id of a registered server.
const CatalogServer = "_catalog"

// ServerIDPattern matches the ids of servers. They contain no underscore, so
// that an exposed name server__tool parses in one way only.
const ServerIDPattern = `^[a-z][a-z0-9-]{0,31}$`

// CheckServerID returns an error that explains the allowed form if id is not
// valid.
func CheckServerID(id string) error {
	if ok, _ := regexp.MatchString(ServerIDPattern, id); !ok {
		return Errorf(CodeInvalid, "%q is not a valid server id; use a lower-case letter, then up to 31 lower-case letters, digits or hyphens", id)
	}
	return nil
}
