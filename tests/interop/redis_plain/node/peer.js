// A Node service that locks with node-redlock as it is told: `THREAD COMMAND` a line, `THREAD REPLY` a line.
//
// acquire NAME [wait=MS] [ttl=MS]   granted | busy
// release NAME                      ok
// extend NAME ttl=MS                ok
// locked NAME                       yes | no
// count NAME LOOPS counter=FILE     counted LOOPS
'use strict';

const fs = require('fs');
const readline = require('readline');
const Redis = require('ioredis');
const Redlock = require('redlock');

const client = new Redis({ port: Number(process.argv[2]), maxRetriesPerRequest: 0 });

// It polls; five times a second unless told otherwise.
const retryDelay = 20;
const patient = new Redlock([client], { retryCount: -1, retryDelay, retryJitter: 5 });

function withWait(wait) {
  if (wait === undefined) return patient;
  return new Redlock([client], { retryCount: Math.floor(Number(wait) / retryDelay), retryDelay, retryJitter: 0 });
}

// The plain number that holdfast::testing::shared_counter counts on. A file and its mapped memory are the same pages.
class Counter {
  constructor(file) {
    this.file = fs.openSync(file, 'r+');
    this.bytes = Buffer.alloc(8);
  }

  async increment() {
    fs.readSync(this.file, this.bytes, 0, 8, 0);
    const seen = this.bytes.readBigInt64LE();
    await new Promise(setImmediate);
    this.bytes.writeBigInt64LE(seen + 1n);
    fs.writeSync(this.file, this.bytes, 0, 8, 0);
  }
}

// What a thread is elsewhere: its commands run in order.
class Session {
  constructor(name) {
    this.name = name;
    this.locks = new Map();
    this.last = Promise.resolve();
  }

  run(line) {
    this.last = this.last
      .then(() => this.answer(line))
      .catch((failed) => `error ${failed}`.replace(/\n/g, ' '))
      .then((reply) => process.stdout.write(`${this.name} ${reply}\n`));
  }

  async answer(line) {
    const words = line.split(' ').filter((word) => word !== '' && !word.includes('='));
    const options = Object.fromEntries(line.split(' ').filter((word) => word.includes('=')).map((word) => word.split('=')));
    const [verb, name] = words;
    switch (verb) {
      case 'acquire':
        return this.acquire(name, options);
      case 'release':
        await this.locks.get(name).unlock();
        return 'ok';
      case 'extend':
        this.locks.set(name, await this.locks.get(name).extend(Number(options.ttl)));
        return 'ok';
      case 'locked':
        return (await client.exists(name)) === 1 ? 'yes' : 'no';
      case 'count':
        return this.count(name, Number(words[2]), options.counter);
      default:
        throw new Error(`no such command: ${verb}`);
    }
  }

  async acquire(name, options) {
    try {
      this.locks.set(name, await withWait(options.wait).lock(name, Number(options.ttl || 30000)));
      return 'granted';
    } catch (failed) {
      if (failed instanceof Redlock.LockError) return 'busy';
      throw failed;
    }
  }

  async count(name, loops, file) {
    const counter = new Counter(file);
    for (let i = 0; i < loops; ++i) {
      const lock = await patient.lock(name, 30000);
      await counter.increment();
      await lock.unlock();
    }
    return `counted ${loops}`;
  }
}

const sessions = new Map();

client.ping().then(() => {
  process.stdout.write('ready\n');
  const lines = readline.createInterface({ input: process.stdin });
  lines.on('line', (line) => {
    const space = line.indexOf(' ');
    const name = line.slice(0, space);
    if (!sessions.has(name)) sessions.set(name, new Session(name));
    sessions.get(name).run(line.slice(space + 1));
  });
  // Whoever gave the commands is gone: so is this, at once, as if killed.
  lines.on('close', () => process.exit(0));
});
