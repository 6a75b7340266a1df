package linear

import "testing"

// explainedByForce implements the definition directly. It reports whether there is an order of the transactions that
// respects real time and explains what was read. Optional transactions may be left out.
func explainedByForce(state []int, left []Transaction) bool {
	done := true
	for i, t := range left {
		done = done && t.Optional
		first := true // no other transaction returned before t was called
		for _, o := range left {
			first = first && (o.Return >= t.Call || o.Optional)
		}
		if !first {
			continue
		}
		after, explained := append([]int(nil), state...), true
		for _, s := range t.Steps {
			explained = explained && (s.Write || after[s.Register] == Anything || after[s.Register] == s.Value)
			after[s.Register] = s.Value
		}
		rest := append(append([]Transaction(nil), left[:i]...), left[i+1:]...)
		if explained && explainedByForce(after, rest) {
			return true
		}
	}
	return done
}

// TestTransactionsAgreeWithTheirDefinition tries every combination of three out of nine transactions on two registers.
// Each transaction may be optional, and they overlap in time in five ways. The registers initially hold 0, 1 or an
// unknown value.
func TestTransactionsAgreeWithTheirDefinition(t *testing.T) {
	read := func(register, value int) Step { return Step{Register: register, Value: value} }
	write := func(register, value int) Step { return Step{Register: register, Write: true, Value: value} }
	var kinds []Transaction
	for _, steps := range [][]Step{{read(0, 0)}, {read(0, 1)}, {write(0, 1)}, {read(0, 1), write(0, 2)},
		{read(0, 2), write(0, 2)}, {read(0, 1), read(1, 1)}, {write(0, 2), write(1, 1)}, {read(1, 0), write(0, 2)},
		{write(0, 1), read(0, 1), write(0, 2)}} {
		kinds = append(kinds, Transaction{Steps: steps}, Transaction{Steps: steps, Optional: true})
	}
	spans := [][3][2]int64{{{0, 1}, {2, 3}, {4, 5}}, {{0, 3}, {1, 2}, {4, 5}}, {{0, 5}, {1, 2}, {3, 4}},
		{{0, 3}, {1, 4}, {2, 5}}, {{0, 2}, {1, 4}, {3, 5}}}
	seen := map[Answer]int{}
	for _, initial := range [][]int{{0, 0}, {Anything, Anything}, {1, Anything}} {
		for _, span := range spans {
			for n := range len(kinds) * len(kinds) * len(kinds) {
				list := []Transaction{kinds[n%len(kinds)], kinds[n/len(kinds)%len(kinds)],
					kinds[n/len(kinds)/len(kinds)]}
				for i := range list {
					list[i].Call, list[i].Return = span[i][0], span[i][1]
					if list[i].Optional {
						list[i].Return = Forever
					}
				}
				want := Refuted
				if explainedByForce(initial, list) {
					want = Linearizable
				}
				got := Transactions(initial, list)
				if seen[got]++; got != want {
					t.Fatalf("from %v, %+v: got %v, want %v", initial, list, got, want)
				}
			}
		}
	}
	if seen[Linearizable] < 20_000 || seen[Refuted] < 20_000 || seen[Unknown] > 0 {
		t.Errorf("%v", seen)
	}
}

// TestTransactionsThatCannotBeOrderedInTime checks that the answer is Unknown if there are too many orders to try:
// sixty writes and sixty compare-and-sets may have happened, and none of them explains what a read found.
func TestTransactionsThatCannotBeOrderedInTime(t *testing.T) {
	list := []Transaction{{Steps: []Step{{Value: 99}}, Call: 200, Return: 201}}
	for i := range 60 {
		list = append(list, Transaction{Steps: []Step{{Value: i}, {Write: true, Value: i + 1}}, Optional: true,
			Call: int64(i), Return: Forever},
			Transaction{Steps: []Step{{Write: true, Value: i % 7}}, Optional: true, Call: int64(i), Return: Forever})
	}
	if got := Transactions([]int{0}, list); got != Unknown {
		t.Errorf("got %v", got)
	}
}

// BenchmarkTransactions checks 9,000 operations on a register. Each of them overlaps the next one.
func BenchmarkTransactions(b *testing.B) {
	var list []Transaction
	for i := range 9000 {
		step := Step{Write: i%3 == 0, Value: i / 3 % 5}
		list = append(list, Transaction{Steps: []Step{step}, Call: int64(10 * i), Return: int64(10*i + 11)})
	}
	b.ReportAllocs()
	for b.Loop() {
		if got := Transactions([]int{0}, list); got != Linearizable {
			b.Fatal(got)
		}
	}
}
