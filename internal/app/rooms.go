package app

import (
	"context"

	"github.com/junctor-mcp/junctor/internal/agents"
	"github.com/junctor-mcp/junctor/internal/room"
)

// openRooms makes the rooms in which users and agents talk.
func (a *App) openRooms() (err error) {
	a.rooms, err = room.New(room.Options{Store: a.store, Turns: agents.RoomTurns{TurnFactory: a.agents.Turns}, AppTools: a.agents.AppTools(), Catalogs: a.agents.Components.Known, Now: a.clock.Now, NewID: newID, Replica: a.replica, Log: a.log})
	if err == nil {
		a.onClose(func(context.Context) { a.rooms.Close() })
	}
	return err
}

// completions makes the endpoint for programs that use chat completions to talk
// to an agent.
func (a *App) completions() *room.CompletionsHandler {
	return &room.CompletionsHandler{Authenticate: a.authenticateEndpoint, NewTurn: a.agents.Turns.NewTurnFor, Now: a.clock.Now, NewID: newID, MaxBody: a.cfg.MaxBody}
}
