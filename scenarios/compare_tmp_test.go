package scenarios
import ("testing";"time")
func TestTmp(t *testing.T){
 n:=5
 b:=time.Now()
 for i:=range contenders { b0:=time.Now(); row,err:=contenders[i].measure(n); if err!=nil{t.Fatal(err)}
  t.Logf("%s %v: alone %v %v first %v %.0f/s req %.1f n%d; together %v %v first %v %.0f/s req %.1f", row.Title, time.Since(b0), row.Alone.P50,row.Alone.P99,row.Alone.First,row.Alone.PerSecond,row.Alone.Requests,row.Alone.Acquires, row.Together.P50,row.Together.P99,row.Together.First,row.Together.PerSecond,row.Together.Requests)
  for _,c:=range row.Survival { if c.Absent=="" {t.Logf("   %-14s %v data %v sect %v lease %v", c.Trouble,c.Fencing,c.Data,c.Sections,c.Leases)} }
 }
 t.Log(time.Since(b))
}
