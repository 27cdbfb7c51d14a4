// Measures redsync for `holdfast bench`: what it is given and what it answers stands in docs/bench.md.
package main

import (
	"bufio"
	"fmt"
	"log"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// What the lock protects, mapped by all workers: plain memory.
type guard struct {
	value     uint64
	lastOwner uint64
}

type worker struct {
	lock  *redsync.Mutex
	owner uint64
	guard *guard // nil: nobody else wants the lock
	said  string
}

func (w *worker) acquire() {
	if err := w.lock.Lock(); err != nil {
		log.Fatal("redsync: ", err)
	}
}

func (w *worker) release() {
	if ok, err := w.lock.Unlock(); !ok {
		log.Fatal("redsync: the lock was not held any more: ", err)
	}
}

func (w *worker) work(began time.Time, length time.Duration) {
	pairs, waits := 0, []byte(nil)
	for asked := time.Since(began); pairs == 0 || asked < length; pairs++ {
		w.acquire()
		if w.guard != nil {
			// Read first, write last: whoever else is inside meanwhile writes the same number.
			before := w.guard.value
			had := time.Since(began)
			if w.guard.lastOwner != w.owner {
				w.guard.lastOwner = w.owner
				waits = strconv.AppendInt(append(waits, ' '), int64(had-asked), 10)
			}
			w.guard.value = before + 1
		}
		w.release()
		asked = time.Since(began)
	}
	w.said = fmt.Sprintf("%d %d%s\n", pairs, time.Since(began).Nanoseconds(), waits)
}

func measure(workers []*worker, length time.Duration) {
	var done sync.WaitGroup
	began := time.Now()
	for _, w := range workers {
		done.Add(1)
		go func() {
			defer done.Done()
			w.work(began, length)
		}()
	}
	done.Wait()
	for _, w := range workers {
		os.Stdout.WriteString(w.said)
	}
}

func mapGuard(path string) *guard {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		log.Fatal(err)
	}
	memory, err := syscall.Mmap(int(file.Fd()), 0, 16, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		log.Fatal(err)
	}
	return (*guard)(unsafe.Pointer(&memory[0]))
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		log.Fatal(err)
	}
	return n
}

// As its users have it, but it never gives up: by default it does after 32 tries.
func newMutex(with *redsync.Redsync, name string) *redsync.Mutex {
	return with.NewMutex(name, redsync.WithTries(math.MaxInt32))
}

func main() {
	if len(os.Args) != 8 {
		log.Fatal("usage: peer STORE SERVERS WORKLOAD LOCK THREADS FIRST GUARD")
	}
	store, servers, workload, lock := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	threads, first := number(os.Args[5]), number(os.Args[6])
	if store != "redis" && store != "redlock" {
		fmt.Println("unsupported redsync locks on redis alone")
		return
	}
	if workload == "fair" {
		fmt.Println("unsupported redsync has no fair lock")
		return
	}
	var pools []redsyncredis.Pool
	for _, server := range strings.Split(servers, ",") {
		pools = append(pools, goredis.NewPool(redis.NewClient(&redis.Options{Addr: server})))
	}
	with := redsync.New(pools...)
	var guarded *guard
	if workload == "handover" || workload == "processes" {
		guarded = mapGuard(os.Args[7])
	}
	var workers []*worker
	for n := first; n < first+threads; n++ {
		name := lock
		if workload == "many" {
			name = fmt.Sprintf("%s/%d", lock, n)
		}
		workers = append(workers, &worker{lock: newMutex(with, name), owner: uint64(n + 1), guard: guarded})
	}
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		length := number(strings.TrimPrefix(in.Text(), "measure "))
		measure(workers, time.Duration(length)*time.Millisecond)
	}
}
