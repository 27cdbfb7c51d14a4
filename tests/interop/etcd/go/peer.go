// A Go service that locks with etcd's concurrency package and its recipes as it is told: `THREAD COMMAND` a line,
// `THREAD REPLY` a line. Each thread has a session of its own.
//
//	acquire NAME        granted         concurrency.Mutex
//	try NAME            granted | busy
//	release NAME        ok
//	rlock NAME          granted         recipe RWMutex
//	wlock NAME          granted
//	runlock NAME        ok
//	wunlock NAME        ok
//	count NAME LOOPS counter=FILE       counted LOOPS
//	count_write NAME LOOPS counter=FILE counted LOOPS
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	recipe "go.etcd.io/etcd/client/v3/experimental/recipes"
)

// The plain number in shared memory that holdfast::testing::shared_counter counts on.
type counter []byte

func openCounter(file string) (counter, error) {
	opened, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	return syscall.Mmap(int(opened.Fd()), 0, 8, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
}

func (c counter) increment() {
	seen := binary.LittleEndian.Uint64(c)
	runtime.Gosched()
	binary.LittleEndian.PutUint64(c, seen+1)
}

type thread struct {
	name    string
	session *concurrency.Session
	mutexes map[string]*concurrency.Mutex
	locks   map[string]*recipe.RWMutex
	inbox   chan string
}

func (t *thread) count(words []string, lock func() error, unlock func() error) (string, error) {
	loops, err := strconv.Atoi(words[2])
	if err != nil {
		return "", err
	}
	file, err := openCounter(strings.TrimPrefix(words[3], "counter="))
	if err != nil {
		return "", err
	}
	for i := 0; i < loops; i++ {
		if err := lock(); err != nil {
			return "", err
		}
		file.increment()
		if err := unlock(); err != nil {
			return "", err
		}
	}
	return "counted " + words[2], nil
}

func (t *thread) answer(line string) (string, error) {
	words := strings.Fields(line)
	name := words[1]
	if t.mutexes[name] == nil {
		t.mutexes[name] = concurrency.NewMutex(t.session, name)
		t.locks[name] = recipe.NewRWMutex(t.session, name)
	}
	m, rw := t.mutexes[name], t.locks[name]
	ctx := context.Background()
	switch words[0] {
	case "acquire":
		return "granted", m.Lock(ctx)
	case "try":
		err := m.TryLock(ctx)
		if err == concurrency.ErrLocked {
			return "busy", nil
		}
		return "granted", err
	case "release":
		return "ok", m.Unlock(ctx)
	case "rlock":
		return "granted", rw.RLock()
	case "wlock":
		return "granted", rw.Lock()
	case "runlock":
		return "ok", rw.RUnlock()
	case "wunlock":
		return "ok", rw.Unlock()
	case "count":
		return t.count(words, func() error { return m.Lock(ctx) }, func() error { return m.Unlock(ctx) })
	case "count_write":
		return t.count(words, rw.Lock, rw.Unlock)
	}
	return "", fmt.Errorf("no such command: %s", words[0])
}

var said sync.Mutex

func say(text string) {
	said.Lock()
	defer said.Unlock()
	fmt.Println(text)
}

func (t *thread) run() {
	for line := range t.inbox {
		reply, err := t.answer(line)
		if err != nil {
			reply = "error " + err.Error()
		}
		say(t.name + " " + reply)
	}
}

func main() {
	client, err := clientv3.New(clientv3.Config{Endpoints: strings.Split(os.Args[1], ",")})
	if err == nil {
		_, err = client.Get(context.Background(), "ready")
	}
	if err != nil {
		say("error " + err.Error())
		os.Exit(1)
	}
	say("ready")
	threads := map[string]*thread{}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		name, command, _ := strings.Cut(lines.Text(), " ")
		if threads[name] == nil {
			session, err := concurrency.NewSession(client, concurrency.WithTTL(5))
			if err != nil {
				say(name + " error " + err.Error())
				continue
			}
			threads[name] = &thread{name, session, map[string]*concurrency.Mutex{}, map[string]*recipe.RWMutex{}, make(chan string, 16)}
			go threads[name].run()
		}
		threads[name].inbox <- command
	}
}
