package admin

import (
	"context"
	"encoding/json"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/agui"
	"github.com/junctor-mcp/junctor/internal/room"
)

// noRooms stands for an instance with one room, in which nobody speaks;
// test/rooms has real ones.
type noRooms struct{}

func aRoom() junctor.Room {
	return junctor.Room{ID: "demo", Name: "Demo", Policy: junctor.PolicyAll, MaxRounds: 3, Approvals: junctor.ApproveAsk, Members: []junctor.Member{{Agent: "a"}, {User: "u1", Name: "ada"}}}
}

func aMessage() junctor.Message {
	return junctor.Message{ID: "m1", Author: junctor.Author{Kind: junctor.AuthorAgent, Name: "a"}, Text: "hi", Calls: []junctor.MessageCall{{ID: "c", Name: "demo__add", State: junctor.MessageCallDone, Arguments: json.RawMessage(`{"a":1}`)}}}
}

func noRoom(id string) error { return junctor.Errorf(junctor.CodeNotFound, "there is no room %q", id) }

func (noRooms) List(context.Context, *junctor.Principal) ([]junctor.Room, error) {
	return []junctor.Room{aRoom()}, nil
}

func (noRooms) Get(context.Context, *junctor.Principal, string) (room.Details, error) {
	return room.Details{Room: aRoom(), Run: "r1", LastRun: &junctor.RoomRun{ID: "r1", State: junctor.RunRunning}, AllowedTools: []room.AllowedTool{{Agent: "a", Server: "demo", Tool: "add"}}}, nil
}

func (noRooms) Create(_ context.Context, _ *junctor.Principal, c room.Settings) (junctor.Room, error) {
	return junctor.Room{ID: "r1234", Name: *c.Name}, nil
}

func (noRooms) Update(_ context.Context, _ *junctor.Principal, id string, _ room.Settings) (room.Details, error) {
	return room.Details{}, noRoom(id)
}

func (noRooms) Delete(_ context.Context, _ *junctor.Principal, id string) error {
	return noRoom(id)
}

func (noRooms) MessagePage(context.Context, *junctor.Principal, string, *junctor.RowPage) ([]junctor.Message, junctor.RowTotal, error) {
	return []junctor.Message{aMessage()}, junctor.RowTotal{Rows: 1}, nil
}

func (noRooms) Export(context.Context, *junctor.Principal, string) (room.Transcript, error) {
	return room.Transcript{Room: aRoom(), Messages: []junctor.Message{aMessage()}}, nil
}

func (noRooms) Tools(context.Context, *junctor.Principal, string) ([]room.AgentTools, error) {
	return []room.AgentTools{{Agent: "a", Tools: []room.ToolSummary{{Name: "demo__add", Server: "demo"}}}}, nil
}

func (noRooms) Approvals(context.Context, *junctor.Principal, string) ([]junctor.CallApproval, error) {
	return []junctor.CallApproval{{ID: "i", Run: "r1", Agent: "a", State: junctor.CallOpen, Call: junctor.RequestedCall{ID: "c", Name: "demo__add"}}}, nil
}

func (noRooms) StartRun(_ context.Context, _ *junctor.Principal, id string, _ agui.Input) (*room.Feed, error) {
	return nil, noRoom(id)
}

func (noRooms) Subscribe(_ context.Context, _ *junctor.Principal, id string) (*room.Feed, error) {
	return nil, noRoom(id)
}

func (noRooms) StopRun(_ context.Context, _ *junctor.Principal, id, _ string) error {
	return noRoom(id)
}

func (noRooms) ReportErrors(_ context.Context, _ *junctor.Principal, id, _ string, _ []a2ui.RenderError) error {
	return noRoom(id)
}
