package app

import (
	"context"

	"github.com/junctor-mcp/junctor/internal/room"
)

// openRooms joins the rooms in which people and agents talk.
func (a *App) openRooms() (err error) {
	a.rooms, err = room.New(room.Options{Store: a.store, Minds: roomMinds{minds{a}}, Views: viewTools{a}, Catalogs: a.components.Known, Now: a.clock.Now, NewID: newID, Node: a.node, Log: a.log})
	if err == nil {
		a.onClose(func(context.Context) { a.rooms.Close() })
	}
	return err
}

// completions is the door for programs that speak chat completions to an agent.
func (a *App) completions() *room.Completions {
	return &room.Completions{Authenticate: a.authenticateDoor, Mind: minds{a}.MindFor, Now: a.clock.Now, NewID: newID, MaxBody: a.cfg.MaxBody}
}
