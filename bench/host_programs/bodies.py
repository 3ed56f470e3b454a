"""Bodies that attract each other: arithmetic of floats on lists, and on fields of objects."""
import sys

n = int(sys.argv[1]) if len(sys.argv) > 1 else 50000


class Body:
    def __init__(self, mass, x, y, vx, vy):
        self.mass = mass
        self.x = x
        self.y = y
        self.vx = vx
        self.vy = vy

    def pull(self, other, dt):
        dx, dy = other.x - self.x, other.y - self.y
        force = dt / (dx * dx + dy * dy + 0.01) ** 1.5
        self.vx += dx * other.mass * force
        self.vy += dy * other.mass * force

    def move(self, dt):
        self.x += dt * self.vx
        self.y += dt * self.vy


def by_objects(n, dt):
    bodies = [Body(1.0 / (i + 1), i * 1.5, i * -0.5, 0.0, 0.1 * i) for i in range(4)]
    for step in range(n):
        for a in bodies:
            for b in bodies:
                if a is not b:
                    a.pull(b, dt)
        for a in bodies:
            a.move(dt)
    return sum([0.5 * a.mass * (a.vx ** 2 + a.vy ** 2) for a in bodies])


def by_lists(n, dt):
    mass = [1.0 / (i + 1) for i in range(4)]
    x, v = [i * 1.5 for i in range(4)], [0.1 * i for i in range(4)]
    for step in range(n):
        for i in range(4):
            force = 0.0
            for j in range(4):
                if i != j:
                    d = x[j] - x[i]
                    force += mass[j] * d / (d * d + 0.01)
            v[i] += force * dt
        for i in range(4):
            x[i] += v[i] * dt
    return x


print(f"{by_objects(n, 0.001):.12f}", by_lists(n, 0.001))
