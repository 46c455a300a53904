package admin

import (
	"context"
	"encoding/json"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/agui"
	"github.com/junctor-mcp/junctor/internal/room"
	"github.com/junctor-mcp/junctor/internal/store"
)

// noRooms stands for an instance with one room, in which nobody speaks;
// test/rooms has real ones.
type noRooms struct{}

func aRoom() junctor.Workspace {
	return junctor.Workspace{ID: "demo", Name: "Demo", Policy: junctor.PolicyAll, MaxRounds: 3, Approvals: junctor.ApproveAsk, Members: []junctor.Member{{Agent: "a"}, {User: "u1", Name: "ada"}}}
}

func aMessage() junctor.Message {
	return junctor.Message{ID: "m1", Author: junctor.Author{Kind: junctor.AuthorAgent, Name: "a"}, Text: "hi", Calls: []junctor.SaidCall{{ID: "c", Name: "demo__add", State: junctor.SaidDone, Arguments: json.RawMessage(`{"a":1}`)}}}
}

func noRoom(id string) error { return junctor.Errorf(junctor.CodeNotFound, "there is no room %q", id) }

func (noRooms) Workspaces(context.Context, *junctor.Principal) ([]junctor.Workspace, error) {
	return []junctor.Workspace{aRoom()}, nil
}

func (noRooms) Workspace(context.Context, *junctor.Principal, string) (room.Shown, error) {
	return room.Shown{Workspace: aRoom(), Run: "r1", LastRun: &junctor.RoomRun{ID: "r1", State: junctor.RunRunning}, Remembered: []room.Remembered{{Agent: "a", Server: "demo", Tool: "add"}}}, nil
}

func (noRooms) AddWorkspace(_ context.Context, _ *junctor.Principal, c room.Change) (junctor.Workspace, error) {
	return junctor.Workspace{ID: "r1234", Name: *c.Name}, nil
}

func (noRooms) ChangeWorkspace(_ context.Context, _ *junctor.Principal, id string, _ room.Change) (room.Shown, error) {
	return room.Shown{}, noRoom(id)
}

func (noRooms) RemoveWorkspace(_ context.Context, _ *junctor.Principal, id string) error {
	return noRoom(id)
}

func (noRooms) Messages(context.Context, *junctor.Principal, string, store.MessageFilter) ([]junctor.Message, error) {
	return []junctor.Message{aMessage()}, nil
}

func (noRooms) Export(context.Context, *junctor.Principal, string) (room.Exported, error) {
	return room.Exported{Workspace: aRoom(), Messages: []junctor.Message{aMessage()}}, nil
}

func (noRooms) Tools(context.Context, *junctor.Principal, string) ([]room.AgentTools, error) {
	return []room.AgentTools{{Agent: "a", Tools: []room.ToolCard{{Name: "demo__add", Server: "demo"}}}}, nil
}

func (noRooms) Approvals(context.Context, *junctor.Principal, string) ([]junctor.CallApproval, error) {
	return []junctor.CallApproval{{ID: "i", Run: "r1", Agent: "a", State: junctor.CallOpen, Call: junctor.AskedCall{ID: "c", Name: "demo__add"}}}, nil
}

func (noRooms) Say(_ context.Context, _ *junctor.Principal, id string, _ agui.Input) (*room.Feed, error) {
	return nil, noRoom(id)
}

func (noRooms) Listen(_ context.Context, _ *junctor.Principal, id string) (*room.Feed, error) {
	return nil, noRoom(id)
}

func (noRooms) Stop(_ context.Context, _ *junctor.Principal, id, _ string) error { return noRoom(id) }

func (noRooms) Report(_ context.Context, _ *junctor.Principal, id, _ string, _ []a2ui.ReportError) error {
	return noRoom(id)
}
