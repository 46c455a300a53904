package main

import (
	"fmt"
	"math/rand/v2"
)

type order struct {
	Number string `json:"number"`
	Month  int    `json:"month"`
	Goods  string `json:"goods"`
	Sum    int    `json:"sum"`
}

// ordersOf makes up the orders of a year; those of one year are always the same.
func ordersOf(year int) ([]order, error) {
	if year < 2020 || year > 2026 {
		return nil, fmt.Errorf("there are orders of 2020 to 2026, none of %d", year)
	}
	goods := []string{"Lamp", "Chair", "Desk", "Shelf", "Clock"}
	random := rand.New(rand.NewPCG(uint64(year), 7)) //nolint:gosec // sample data, the year is positive
	list := make([]order, 40+random.IntN(40))
	for i := range list {
		list[i] = order{
			Number: fmt.Sprintf("%d-%03d", year, i+1), Month: 1 + 12*i/len(list),
			Goods: goods[random.IntN(len(goods))], Sum: 20 + random.IntN(480),
		}
	}
	return list, nil
}
