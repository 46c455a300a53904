package junctor

import (
	"encoding/json"
	"time"
)

// ChangeEntry is how an administrative change came in.
type ChangeEntry string

// The entries of administrative changes. Those of requests are told by the credential.
const (
	ChangeByAPI      ChangeEntry = "api"           // a request to the admin API with a key or a token, also of a command with JUNCTOR_KEY
	ChangeByCLI      ChangeEntry = "cli"           // a command of the operator, through the socket in the data directory
	ChangeByConsole  ChangeEntry = "console"       // a browser that is signed in
	ChangeBySettings ChangeEntry = "settings-file" // the settings file, at a start or a reload
	ChangeByStart    ChangeEntry = "start"         // the start of the instance
)

// ChangeEntries returns all entries of administrative changes.
func ChangeEntries() []ChangeEntry {
	return []ChangeEntry{ChangeByAPI, ChangeByCLI, ChangeByConsole, ChangeBySettings, ChangeByStart}
}

// ChangeStatus is how an administrative change ended.
type ChangeStatus string

// The ends of administrative changes. A change that was refused, or that failed and left its
// object as it was, has no record.
const (
	ChangeRunning     ChangeStatus = "running"
	ChangeDone        ChangeStatus = "done"
	ChangeFailed      ChangeStatus = "failed"      // it failed after a part of it was made
	ChangeInterrupted ChangeStatus = "interrupted" // the process ended meanwhile: the change may have been made
)

// AdminChange is one change of the instance by a person, a program or the settings file: who
// changed which object, from where, and its values before and after. Secrets in the values
// are masked.
type AdminChange struct {
	ID         string          `json:"id"`
	Tenant     TenantID        `json:"-"`
	At         time.Time       `json:"at"`
	Status     ChangeStatus    `json:"status" enum:"running,done,failed,interrupted" doc:"running: the change has begun. failed: a part of it was made. interrupted: Junctor was stopped meanwhile, and the change may have been made."`
	EntryPoint ChangeEntry     `json:"entry_point" enum:"api,cli,console,settings-file,start" doc:"How the change came in. cli is the socket in the data directory, which only the operator can use; api is a key or token, also that of a command with JUNCTOR_KEY; console is a browser's login."`
	Address    string          `json:"address,omitempty" doc:"Network address of the caller, or the position in the settings file. Absent for the socket of the instance."`
	Issuer     string          `json:"issuer" doc:"Kind of the actor: user, agent, key, local or an identity provider."`
	Subject    string          `json:"subject" doc:"ID of the actor."`
	Actor      string          `json:"actor,omitempty" doc:"Name of the actor at that time."`
	User       string          `json:"user,omitempty" doc:"ID of the user who made the change, or for whom it was made."`
	Client     string          `json:"client,omitempty" doc:"ID of the OAuth client that the user let make the change."`
	Action     string          `json:"action" doc:"What was done, such as create-server: the operation of the admin API where there is one."`
	Object     string          `json:"object" doc:"Kind of the changed object, such as server."`
	ObjectID   string          `json:"object_id,omitempty" doc:"ID or name of the changed object. Absent if there is only one of its kind."`
	Before     json.RawMessage `json:"before,omitempty" doc:"The object before the change, with secrets masked. Absent if it did not exist or cannot be read."`
	After      json.RawMessage `json:"after,omitempty" doc:"The object after the change, with secrets masked. Absent if it does not exist or cannot be read."`
	Replica    string          `json:"replica" doc:"Replica whose journal has the record."`
	Seq        uint64          `json:"seq,omitempty" doc:"Number of the record in that journal. Absent until it is written."`
}

// AdminChangeFilter selects administrative changes. Zero members do not filter.
type AdminChangeFilter struct {
	Actor        string // the actor's ID or name, or the ID of the user
	Object       string // a kind
	ObjectID     string
	Action       string
	EntryPoint   ChangeEntry
	Since, Until time.Time // Until is exclusive
}
