package admin

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// describeTypes teaches the OpenAPI document what the nouns of package junctor
// cannot say about themselves without importing huma: which words an
// enumeration knows, and that an error is a Problem.
func describeTypes(r huma.Registry) {
	alias[huma.ErrorModel, Problem](r)
	alias[json.RawMessage, object](r)
	alias[time.Duration, duration](r)
	alias[junctor.Code, code](r)
	alias[junctor.Kind, kind](r)
	alias[junctor.Door, door](r)
	alias[junctor.Status, status](r)
	alias[junctor.Mode, mode](r)
	alias[junctor.ServerState, serverState](r)
	alias[junctor.Transport, transport](r)
	alias[junctor.AuthType, authType](r)
	alias[junctor.Isolation, isolation](r)
	alias[junctor.Credentials, credentials](r)
	alias[junctor.UserRole, userRole](r)
	alias[junctor.Sources, sources](r)
	alias[junctor.OverLimit, overLimit](r)
	alias[junctor.Grant, grant](r)
	alias[junctor.Scope, scope](r)
	alias[[]junctor.Scope, scopeList](r)
	alias[[]string, stringList](r)
	alias[seal.Secret, secretText](r)
	alias[junctor.SourceStyle, sourceStyle](r)
	alias[junctor.JSON, anything](r)
	alias[junctor.ModelKind, modelKind](r)
	alias[agent.Message, turnMessage](r)
	alias[agent.Call, turnCall](r)
	alias[agent.Result, turnResult](r)
	alias[agent.Tool, turnTool](r)
	alias[agent.Usage, turnUsage](r)
	alias[agent.Role, turnRole](r)
	alias[a2ui.Action, surfaceAction](r)
	alias[junctor.TurnPolicy, turnPolicy](r)
	alias[junctor.RoomApproval, roomApproval](r)
	alias[junctor.AuthorKind, authorKind](r)
	alias[junctor.SaidState, saidState](r)
	alias[junctor.RunState, runState](r)
	alias[junctor.CallWord, callWord](r)
}

func alias[T, As any](r huma.Registry) {
	r.RegisterTypeAlias(reflect.TypeFor[T](), reflect.TypeFor[As]())
}

func words[T ~string](values ...T) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

// object is JSON that is carried through as it is; wherever the nouns have
// such a member it is an object.
type object json.RawMessage

func (object) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

type duration int64

func (duration) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeInteger, Format: "int64", Description: "Nanoseconds."}
}

type stringList []string

func (stringList) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}}
}

// secretText goes in, and never comes out.
type secretText string

func (secretText) Schema(huma.Registry) *huma.Schema {
	one := 1
	return &huma.Schema{Type: huma.TypeString, Format: "password", MinLength: &one, WriteOnly: true}
}

// grant is server/item.
type grant string

func (grant) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeString} }

type overLimit string

func (overLimit) Schema(huma.Registry) *huma.Schema {
	return words(junctor.OverLimitReject, junctor.OverLimitQueue)
}

type scope string

func (scope) Schema(huma.Registry) *huma.Schema { return words(junctor.Scopes()...) }

type scopeList []string

func (scopeList) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeArray, Items: scope("").Schema(r)}
}

type userRole string

func (userRole) Schema(huma.Registry) *huma.Schema { return words(junctor.UserRoles()...) }

type sources string

func (sources) Schema(huma.Registry) *huma.Schema {
	return words(junctor.SourcesGenerated, junctor.SourcesBYO, junctor.SourcesBoth)
}

type code string

func (code) Schema(huma.Registry) *huma.Schema { return words(codes()...) }

// codes lists what Problem.code and Call.code may say.
func codes() []junctor.Code {
	return []junctor.Code{
		junctor.CodeUnauthenticated, junctor.CodeDenied, junctor.CodeNotFound, junctor.CodeInvalid, junctor.CodeConflict, junctor.CodePrecondition,
		junctor.CodeLimited, junctor.CodeTooLarge, junctor.CodeTimeout, junctor.CodeCanceled, junctor.CodeUnreachable,
		junctor.CodeUpstream, junctor.CodeUnavailable, junctor.CodeInternal,
	}
}

type kind string

func (kind) Schema(huma.Registry) *huma.Schema {
	return words(junctor.KindTool, junctor.KindResource, junctor.KindPrompt, junctor.KindCompletion, junctor.KindSubscription,
		junctor.KindTask, junctor.KindTaskUpdate, junctor.KindTaskCancel, junctor.KindServer, junctor.KindAgent)
}

type door string

func (door) Schema(huma.Registry) *huma.Schema {
	return words(junctor.DoorMCP, junctor.DoorSSE, junctor.DoorStdio, junctor.DoorPlain, junctor.DoorCall, junctor.DoorAdmin, junctor.DoorView, junctor.DoorTurn, junctor.DoorDelivery)
}

type modelKind string

func (modelKind) Schema(huma.Registry) *huma.Schema {
	return words(junctor.ModelAnthropic, junctor.ModelOpenAI, junctor.ModelA2A)
}

type turnRole string

func (turnRole) Schema(huma.Registry) *huma.Schema {
	return words(agent.RoleUser, agent.RoleAssistant, agent.RoleTool)
}

type status string

func (status) Schema(huma.Registry) *huma.Schema { return words(statuses()...) }

func statuses() []junctor.Status {
	return []junctor.Status{
		junctor.StatusRunning, junctor.StatusSuccess, junctor.StatusError, junctor.StatusTimeout, junctor.StatusCanceled,
		junctor.StatusDenied, junctor.StatusLimited, junctor.StatusInvalid, junctor.StatusLapsed,
	}
}

type mode string

func (mode) Schema(huma.Registry) *huma.Schema {
	return words(junctor.ModeBuiltin, junctor.ModeBYO, junctor.ModeGenerated, junctor.ModeFound)
}

type serverState string

func (serverState) Schema(huma.Registry) *huma.Schema {
	return words(junctor.StateActive, junctor.StateInactive, junctor.StateError)
}

type transport string

func (transport) Schema(huma.Registry) *huma.Schema {
	return words(junctor.TransportHTTP, junctor.TransportSSE, junctor.TransportStdio)
}

type authType string

func (authType) Schema(huma.Registry) *huma.Schema {
	return words(junctor.AuthNone, junctor.AuthBearer, junctor.AuthAPIKey, junctor.AuthBasic, junctor.AuthOAuthClient, junctor.AuthOAuth)
}

type credentials string

func (credentials) Schema(huma.Registry) *huma.Schema {
	return words(junctor.CredentialsShared, junctor.CredentialsPerUser)
}

type isolation string

func (isolation) Schema(huma.Registry) *huma.Schema {
	return words(junctor.IsolationShared, junctor.IsolationSession, junctor.IsolationUser)
}

type sourceStyle string

func (sourceStyle) Schema(huma.Registry) *huma.Schema { return words(junctor.SourceStyles()...) }

// anything is JSON of any kind.
type anything json.RawMessage

func (anything) Schema(huma.Registry) *huma.Schema { return &huma.Schema{} }

type turnPolicy string

func (turnPolicy) Schema(huma.Registry) *huma.Schema { return words(junctor.TurnPolicies()...) }

type roomApproval string

func (roomApproval) Schema(huma.Registry) *huma.Schema { return words(junctor.RoomApprovals()...) }

type authorKind string

func (authorKind) Schema(huma.Registry) *huma.Schema {
	return words(junctor.AuthorUser, junctor.AuthorAgent, junctor.AuthorSystem)
}

type saidState string

func (saidState) Schema(huma.Registry) *huma.Schema { return words(junctor.SaidStates()...) }

type runState string

func (runState) Schema(huma.Registry) *huma.Schema {
	return words(junctor.RunRunning, junctor.RunWaiting, junctor.RunDone, junctor.RunFailed, junctor.RunCancelled, junctor.RunLost)
}

type callWord string

func (callWord) Schema(huma.Registry) *huma.Schema {
	return words(junctor.CallOpen, junctor.CallAllowed, junctor.CallDenied)
}
