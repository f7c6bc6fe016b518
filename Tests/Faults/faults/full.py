def run(machine): return True
